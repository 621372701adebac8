import { arg, type Command, flag, json, project, text } from "../shell/command.ts";

const NAME = arg("NAME", "Name of the agent in `agents`", { names: "agent" });

export const agent: Command = {
  name: "agent",
  summary: "Add, remove, list and test coding agents that speak ACP",
  examples: {
    "trunkline agent add gemini -- gemini --acp": "Add an agent.",
    "trunkline agent list": "Show which one new sessions use.",
  },
  commands: [
    {
      name: "add",
      summary: "Add an agent to your configuration file",
      description:
        "A variable without a value is a secret: it is asked for, or read from standard input, and " +
        "not shown.",
      args: [NAME, arg("COMMAND...", "Program and its arguments, after `--`")],
      options: {
        env: text("NAME=VALUE...", "Environment variable for the program; may be repeated"),
        identity: text("IDENTITY", "Git identity that it acts as", { names: "identity" }),
        default: flag("Use it for sessions that name no agent"),
        replace: flag("Replace an agent with the same name"),
        project,
        json,
      },
      examples: {
        "trunkline agent add claude -- npx -y @agentclientprotocol/claude-agent-acp":
          "Add an agent that npm downloads when it is first used.",
      },
      load: async () => ({ run: (await import("./agent.ts")).add }),
    },
    {
      name: "remove",
      summary: "Remove an agent from your configuration file",
      args: [NAME],
      options: { project, json },
      examples: { "trunkline agent remove gemini": "Its sessions stay readable." },
      load: async () => ({ run: (await import("./agent.ts")).remove }),
    },
    {
      name: "list",
      summary: "List agents; `*` marks the one that new sessions use",
      options: { json },
      examples: { "trunkline agent list": "One line per agent." },
      load: async () => ({ run: (await import("./agent.ts")).list }),
    },
    {
      name: "test",
      summary: "Start an agent and ask it what it can do",
      args: [NAME],
      options: { json },
      examples: { "trunkline agent test helper": "Exits with 1 if it does not answer." },
      load: async () => ({ run: (await import("./agent.ts")).test }),
    },
  ],
};
