import { type Command, json } from "../shell/command.ts";

export const tools: Command = {
  name: "tools",
  summary: "Look at the tools, call them, and approve what has changed",
  description:
    "These are the tools that every assistant gets which connects to Trunkline: its own, and those " +
    "of the MCP servers in the configuration.",
  examples: [
    { run: "trunkline tools list", explains: "Everything that is offered, and what is held." },
    { run: "trunkline tools diff", explains: "What has changed in tools that are held." },
  ],
  commands: [
    {
      name: "list",
      summary: "List the tools that are offered, and those that are held",
      description:
        "A tool of another server is held when it is not what it was when it was approved, or when " +
        "its name looks like that of another tool. It is not offered until you have looked at it " +
        "with `trunkline tools diff` and approved it. One that your policy denies is marked.",
      options: { json },
      examples: [
        {
          run: "trunkline tools list",
          explains: "A table of names, where they come from and what they do.",
        },
        { run: "trunkline tools list --json", explains: "The whole definitions." },
      ],
      load: async () => ({ run: (await import("./tools.ts")).list }),
    },
    {
      name: "call",
      summary: "Call a tool and print what it answers",
      description:
        "The call passes the same policy and leaves the same record as one that an assistant makes. " +
        "Exit code 1 when the tool fails or the call is refused.",
      args: [{ name: "NAME", describe: "The tool" }],
      options: {
        args: {
          type: "string",
          value: "JSON",
          describe: "Its arguments, an object; - reads them from standard input",
          default: "{}",
        },
        json,
      },
      examples: [
        {
          run: `trunkline tools call read_file --args '{"path":"README.md"}'`,
          explains: "Call a tool with an argument.",
        },
        {
          run: "cat arguments.json | trunkline tools call read_file --args - --json",
          explains: "Take the arguments from a file, and print the whole result.",
        },
      ],
      load: async () => ({ run: (await import("./tools.ts")).call }),
    },
    {
      name: "diff",
      summary: "Show held tools, and how they differ from what was approved",
      args: [
        {
          name: "NAME",
          describe: "Only this tool; SERVER/NAME where several have it",
          optional: true,
        },
      ],
      options: { json },
      examples: [{ run: "trunkline tools diff", explains: "Everything that waits for you." }],
      load: async () => ({ run: (await import("./approve.ts")).diff }),
    },
    {
      name: "approve",
      summary: "Let held tools through, and believe tools, as they are now",
      description:
        "Look at them first with `trunkline tools diff`. Servers that are running offer them within " +
        "a second. What you approve is also believed: the built-in agent calls a tool that says it " +
        "only reads without asking you, until the tool changes.",
      args: [
        {
          name: "NAME",
          describe: "The tools; SERVER/NAME where several servers have it",
          optional: true,
          variadic: true,
        },
      ],
      options: {
        all: { type: "boolean", describe: "Everything that is held" },
        server: { type: "string", value: "SERVER", describe: "All tools of this server" },
        json,
      },
      examples: [
        { run: "trunkline tools approve --all", explains: "Having looked at all of them." },
        { run: "trunkline tools approve --server notes", explains: "Trust one server's tools." },
      ],
      load: async () => ({ run: (await import("./approve.ts")).approve }),
    },
  ],
};
