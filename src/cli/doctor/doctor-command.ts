import { type Command, flag, json } from "../shell/command.ts";

export const doctor: Command = {
  name: "doctor",
  summary: "Check the setup, and say how to fix what is wrong",
  description:
    "Checks Node, git, the configuration, the data folder and the files in it, that `trunkline mcp` " +
    "answers, the port, access to the gateway and its certificate, the agents, the MCP servers, the " +
    "plugins, the language models, the identities and the guard of this repository, and which sandbox " +
    "is in force for commands, plugins and remote runs. Checks run at the same time; " +
    "each has ten seconds of its own, and --deep gives a minute. Exits with 1 if a check fails.\n\n" +
    "`--fix` makes the data folder private, deletes lock files and sockets of programs that were " +
    "killed, and installs a guard again that was left by a moved Trunkline. It deletes nothing that is " +
    "yours: a damaged file is renamed, and damaged lines of the audit are moved to a file beside it, only if " +
    "you agree. Afterwards it checks again.",
  options: {
    fix: flag("Fix what can be fixed safely, then check again"),
    yes: flag("With --fix: rename damaged files without asking"),
    deep: flag("Wait up to a minute for slow servers and large files, and start each agent"),
    json,
  },
  examples: {
    "trunkline doctor": "Check the setup for the current folder.",
    "trunkline doctor --fix": "Fix what can be fixed, and say what is left.",
    "trunkline doctor --json": "Print the findings for a script.",
  },
  load: () => import("../../setup/doctor/doctor.ts"),
};
