import { type Command, json, project } from "../shell/command.ts";

const NAME = { name: "NAME", describe: "Name of the agent in `agents`" } as const;

export const agent: Command = {
  name: "agent",
  summary: "Add, remove, list and test coding agents that speak ACP",
  examples: [
    { run: "trunkline agent add gemini -- gemini --acp", explains: "Add an agent." },
    { run: "trunkline agent list", explains: "Show which one new sessions use." },
  ],
  commands: [
    {
      name: "add",
      summary: "Add an agent to your configuration file",
      description:
        "A variable without a value is a secret: it is asked for, or read from standard input, and " +
        "not shown.",
      args: [
        NAME,
        { name: "COMMAND", describe: "Program and its arguments, after `--`", variadic: true },
      ],
      options: {
        env: {
          type: "string",
          value: "NAME=VALUE",
          multiple: true,
          describe: "Environment variable for the program; may be repeated",
        },
        identity: { type: "string", value: "IDENTITY", describe: "Git identity that it acts as" },
        default: { type: "boolean", describe: "Use it for sessions that name no agent" },
        replace: { type: "boolean", describe: "Replace an agent with the same name" },
        project,
        json,
      },
      examples: [
        {
          run: "trunkline agent add claude -- npx -y @agentclientprotocol/claude-agent-acp",
          explains: "Add an agent that npm downloads when it is first used.",
        },
      ],
      load: async () => ({ run: (await import("./edit.ts")).add }),
    },
    {
      name: "remove",
      summary: "Remove an agent from your configuration file",
      args: [NAME],
      options: { project, json },
      examples: [{ run: "trunkline agent remove gemini", explains: "Its sessions stay readable." }],
      load: async () => ({ run: (await import("./edit.ts")).remove }),
    },
    {
      name: "list",
      summary: "List agents; `*` marks the one that new sessions use",
      options: { json },
      examples: [{ run: "trunkline agent list", explains: "One line per agent." }],
      load: async () => ({ run: (await import("./list.ts")).list }),
    },
    {
      name: "test",
      summary: "Start an agent and ask it what it can do",
      args: [NAME],
      options: { json },
      examples: [
        { run: "trunkline agent test helper", explains: "Exits with 1 if it does not answer." },
      ],
      load: async () => ({ run: (await import("./list.ts")).test }),
    },
  ],
};
