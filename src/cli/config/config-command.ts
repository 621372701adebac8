import { type Command, json } from "../shell/command.ts";

export const config: Command = {
  name: "config",
  summary: "Look at the configuration and check it",
  examples: [
    { run: "trunkline config show --origin", explains: "Every value, and where it comes from." },
    { run: "trunkline config check", explains: "Find mistakes before a server does." },
  ],
  commands: [
    {
      name: "show",
      summary: "Print the configuration as it is in force, secrets masked",
      options: {
        origin: { type: "boolean", describe: "Say where each value comes from" },
        json,
      },
      examples: [
        { run: "trunkline config show", explains: "What a server started here would use." },
        {
          run: "trunkline config show --origin --set log.level=debug",
          explains: "See what a setting on the command line replaces.",
        },
      ],
      load: async () => ({ run: (await import("./config.ts")).show }),
    },
    {
      name: "path",
      summary: "Print where the configuration is read from",
      description:
        "Only the path of your own file goes to standard output. What else is read, and what is " +
        "missing, is told on standard error.",
      options: { json },
      examples: [{ run: 'cat "$(trunkline config path)"', explains: "Read the file itself." }],
      load: async () => ({ run: (await import("./config.ts")).path }),
    },
    {
      name: "check",
      summary: "Say whether the configuration is right, and if not, what is wrong where",
      args: [
        {
          name: "FILE",
          describe: "Check this file alone, instead of the configuration in force",
          optional: true,
        },
      ],
      options: { json },
      examples: [
        {
          run: "trunkline config check",
          explains: "Check all that a server started here would read.",
        },
        {
          run: "trunkline config check team.jsonc",
          explains: "Check a file before it is used; exit code 1 when it has a mistake.",
        },
      ],
      load: async () => ({ run: (await import("./config.ts")).check }),
    },
    {
      name: "schema",
      summary: "Print the JSON Schema of the configuration",
      options: { json: { type: "boolean", describe: "Print JSON, which it does anyway" } },
      examples: [
        {
          run: "trunkline config schema > trunkline.schema.json",
          explains: "Give it to an editor, which then completes and checks the file.",
        },
      ],
      load: async () => ({ run: (await import("./config.ts")).schema }),
    },
    {
      name: "trust",
      summary: "Let this project's .trunkline.jsonc set everything",
      description:
        "A project's own file may come from anyone, so until it is trusted it sets only what is " +
        "harmless. A file that changes has to be trusted again.",
      args: [{ name: "DIR", describe: "A folder of the project, if not this one", optional: true }],
      options: { json },
      examples: [{ run: "trunkline config trust", explains: "Having read the file." }],
      load: async () => ({ run: (await import("./config.ts")).trust }),
    },
    {
      name: "untrust",
      summary: "Take the trust in this project's .trunkline.jsonc back",
      args: [{ name: "DIR", describe: "A folder of the project, if not this one", optional: true }],
      options: { json },
      examples: [
        { run: "trunkline config untrust", explains: "From now on it sets only what is harmless." },
      ],
      load: async () => ({ run: (await import("./config.ts")).untrust }),
    },
  ],
};
