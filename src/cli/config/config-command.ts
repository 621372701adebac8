import { type Command, json } from "../shell/command.ts";

export const config: Command = {
  name: "config",
  summary: "Show and check the configuration",
  examples: [
    { run: "trunkline config show --origin", explains: "Every value and where it was set." },
    { run: "trunkline config check", explains: "Find mistakes before you start a server." },
  ],
  commands: [
    {
      name: "show",
      summary: "Print the configuration that is in effect, with secrets masked",
      options: {
        origin: { type: "boolean", describe: "Also print where each value was set" },
        json,
      },
      examples: [
        { run: "trunkline config show", explains: "What a server started here would use." },
        {
          run: "trunkline config show --origin --set log.level=debug",
          explains: "See what a value on the command line replaces.",
        },
      ],
      load: async () => ({ run: (await import("./config.ts")).show }),
    },
    {
      name: "path",
      summary: "Print the path of your configuration file",
      description:
        "Standard output gets only the path of your own file. Other files that are read, and files " +
        "that are missing, are listed on standard error.",
      options: { json },
      examples: [{ run: 'cat "$(trunkline config path)"', explains: "Show the file." }],
      load: async () => ({ run: (await import("./config.ts")).path }),
    },
    {
      name: "check",
      summary: "Check the configuration, and print each mistake with its position",
      args: [
        {
          name: "FILE",
          describe: "Check only this file, instead of the configuration in effect",
          optional: true,
        },
      ],
      options: { json },
      examples: [
        {
          run: "trunkline config check",
          explains: "Check every file that a server started here would read.",
        },
        {
          run: "trunkline config check team.jsonc",
          explains: "Check a file before you use it; exits with 1 if it has a mistake.",
        },
      ],
      load: async () => ({ run: (await import("./config.ts")).check }),
    },
    {
      name: "schema",
      summary: "Print the JSON Schema of the configuration",
      options: { json: { type: "boolean", describe: "Accepted; the output is always JSON" } },
      examples: [
        {
          run: "trunkline config schema > trunkline.schema.json",
          explains: "Give it to your editor for completion and checks.",
        },
      ],
      load: async () => ({ run: (await import("./config.ts")).schema }),
    },
    {
      name: "trust",
      summary: "Trust this project's .trunkline.jsonc, so that it can set everything",
      description:
        "Anyone may have written a project's file, so an untrusted file can set only what is " +
        "harmless. When a trusted file changes, you have to trust it again.",
      args: [
        {
          name: "DIR",
          describe: "A folder of the project, instead of the current one",
          optional: true,
        },
      ],
      options: { json },
      examples: [{ run: "trunkline config trust", explains: "Read the file first." }],
      load: async () => ({ run: (await import("./config.ts")).trust }),
    },
    {
      name: "untrust",
      summary: "Stop trusting this project's .trunkline.jsonc",
      args: [
        {
          name: "DIR",
          describe: "A folder of the project, instead of the current one",
          optional: true,
        },
      ],
      options: { json },
      examples: [
        {
          run: "trunkline config untrust",
          explains: "From now on it can set only what is harmless.",
        },
      ],
      load: async () => ({ run: (await import("./config.ts")).untrust }),
    },
  ],
};
