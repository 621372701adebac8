import { type Command, json } from "../shell/command.ts";

export const doctor: Command = {
  name: "doctor",
  summary: "Check that everything is set up, and say what to do where it is not",
  description:
    "Looks at Node, git, the configuration, the data folder, the port, the MCP servers, and whether an " +
    "assistant that starts `trunkline mcp` gets an answer. Exit code 1 when something fails.",
  options: { json },
  examples: [
    { run: "trunkline doctor", explains: "Check the setup for the current folder." },
    { run: "trunkline doctor --json", explains: "The same for a script." },
  ],
  load: () => import("./doctor.ts"),
};
