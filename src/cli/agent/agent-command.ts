import { arg, type Command, commandsIn, flag, project, text } from "../shell/command.ts";

const NAME = arg("NAME", "Name of the agent in `agents`", { names: "agent" });

export const agent: Command = {
  name: "agent",
  summary: "Add, remove and list coding agents that speak ACP",
  examples: {
    "trunkline agent add gemini -- gemini --acp": "Add an agent.",
    "trunkline agent list": "Show which one new sessions use.",
  },
  commands: commandsIn(() => import("./agent.ts"), {
    add: {
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
      },
      examples: {
        "trunkline agent add claude -- npx -y @agentclientprotocol/claude-agent-acp":
          "Add an agent that npm downloads when it is first used.",
      },
    },
    remove: {
      summary: "Remove an agent from your configuration file",
      args: [NAME],
      options: { project },
      examples: { "trunkline agent remove gemini": "Its sessions stay readable." },
    },
    list: {
      summary: "List agents; `*` marks the one that new sessions use",
      examples: { "trunkline agent list": "One line per agent." },
    },
  }),
};
