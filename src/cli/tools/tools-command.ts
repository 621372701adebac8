import { arg, type Command, commandsIn, flag, text } from "../shell/command.ts";

export const tool: Command = {
  name: "tool",
  formerly: ["tools"],
  summary: "List, call and approve tools",
  description:
    "These are the tools that assistants get from Trunkline: its own, and those of the MCP servers " +
    "in the configuration.",
  examples: {
    "trunkline tool list": "Show offered and held tools.",
    "trunkline tool diff": "Show what changed in held tools.",
  },
  commands: commandsIn(() => import("./tools.ts"), {
    list: {
      summary: "List offered and held tools",
      description:
        "A tool of another server is held if its description changed since you approved it, or if " +
        "its name looks like that of another tool. Assistants do not get a held tool until you " +
        "check it with `trunkline tool diff` and approve it. Tools that your policy denies are " +
        "marked.",
      options: {
        profile: text("NAME", "List what a client with this profile of the configuration gets", {
          names: "profile",
        }),
      },
      examples: {
        "trunkline tool list": "Prints name, server and description of each.",
        "trunkline tool list --json": "Prints the complete definitions.",
        "trunkline tool list --profile reading": "Prints what a client with that profile gets.",
      },
    },
    call: {
      summary: "Call a tool and print its result",
      description:
        "The policy and the audit treat the call like one of an assistant. Exits with 1 if the tool " +
        "fails or the call is refused.",
      args: [arg("NAME", "The tool")],
      options: {
        args: text("JSON", "Arguments as a JSON object; - reads them from standard input", {
          default: "{}",
        }),
      },
      examples: {
        [`trunkline tool call read_file --args '{"path":"README.md"}'`]:
          "Call a tool with an argument.",
        "cat arguments.json | trunkline tool call read_file --args - --json":
          "Read the arguments from a file, and print the whole result.",
      },
    },
    diff: {
      summary:
        "Show held tools, what changed since they were approved, and what profiles make of a tool",
      args: [arg("[NAME]", "Only this tool; SERVER/NAME if several servers have it")],
      examples: { "trunkline tool diff": "Show every tool that waits for approval." },
    },
    approve: {
      summary: "Approve tools as they are now",
      description:
        "Check them first with `trunkline tool diff`. Running servers offer them within a second. " +
        "The built-in agent also believes an approved tool that says it only reads, and calls it " +
        "without asking you, until the tool changes.",
      args: [arg("[NAME...]", "Tools to approve; SERVER/NAME if several servers have it")],
      options: {
        all: flag("Approve all held tools"),
        server: text("SERVER", "Approve all tools of this server", { names: "server" }),
      },
      examples: {
        "trunkline tool approve --all": "Check all of them first.",
        "trunkline tool approve --server notes": "Approve the tools of one server.",
      },
    },
  }),
};
