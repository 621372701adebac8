import { type Command, json } from "../shell/command.ts";

export const doctor: Command = {
  name: "doctor",
  summary: "Check the setup, and say how to fix what is wrong",
  description:
    "Checks Node, git, the configuration, the data folder, that `trunkline mcp` answers, the port, " +
    "access to the gateway, the MCP servers, the plugins, the language models, and which sandbox is in " +
    "force for commands and for remote runs. Exits with 1 if a check fails.",
  options: { json },
  examples: [
    { run: "trunkline doctor", explains: "Check the setup for the current folder." },
    { run: "trunkline doctor --json", explains: "Print the findings for a script." },
  ],
  load: () => import("./doctor.ts"),
};
