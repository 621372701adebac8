import { arg, type Command, commandsIn, flag, project } from "../shell/command.ts";

export const config: Command = {
  name: "config",
  summary: "Show, check and change the configuration",
  examples: {
    "trunkline config show --origin": "Every value and where it was set.",
    "trunkline config check": "Find mistakes before you start a server.",
    "trunkline config set log.level debug": "Change a value in your file.",
  },
  commands: commandsIn(() => import("./config.ts"), {
    show: {
      summary: "Print the configuration that is in effect, with secrets masked",
      options: {
        origin: flag("Also print where each value was set"),
      },
      examples: {
        "trunkline config show": "What a server started here would use.",
        "trunkline config show --origin --set log.level=debug":
          "See what a value on the command line replaces.",
      },
    },
    set: {
      summary: "Set a value in your configuration file",
      description:
        "Comments and layout of the file stay as they are, and its earlier text is kept in the data " +
        "folder. A value that the configuration does not allow is refused, and nothing is written.",
      args: [
        arg("KEY", "Key with dots, such as serve.port; brackets as for --set"),
        arg("VALUE", "Value as JSON, or as plain text", { mayBeEmpty: true }),
      ],
      options: { project },
      examples: {
        "trunkline config set log.level debug": "Set a text.",
        [`trunkline config set agent.egress.allowHosts '["packages.example.com"]'`]: "Set a list.",
        "trunkline config set --project log.level warn":
          "Set it for everybody who works on this project.",
      },
      load: async () => ({ run: (await import("./edit.ts")).set }),
    },
    unset: {
      summary: "Remove a value from your configuration file",
      args: [arg("KEY", "Key with dots, such as serve.port")],
      options: { project },
      examples: { "trunkline config unset log.level": "Use the default again." },
      load: async () => ({ run: (await import("./edit.ts")).unset }),
    },
    check: {
      summary: "Check the configuration, and print each mistake with its position",
      args: [arg("[FILE]", "Check only this file, instead of the configuration in effect")],
      examples: {
        "trunkline config check": "Check every file that a server started here would read.",
        "trunkline config check team.jsonc":
          "Check a file before you use it; exits with 1 if it has a mistake.",
      },
    },
    schema: {
      summary: "Print the JSON Schema of the configuration",
      options: { json: flag("Accepted; the output is always JSON") },
      examples: {
        "trunkline config schema > trunkline.schema.json":
          "Give it to your editor for completion and checks.",
      },
    },
    trust: {
      summary: "Trust this project's .trunkline.jsonc, so that it can set everything",
      description:
        "Anyone may have written a project's file, so an untrusted file can set only what is " +
        "harmless. When a trusted file changes, you have to trust it again.",
      args: [arg("[DIR]", "A folder of the project, instead of the current one")],
      examples: { "trunkline config trust": "Read the file first." },
    },
    untrust: {
      summary: "Stop trusting this project's .trunkline.jsonc",
      args: [arg("[DIR]", "A folder of the project, instead of the current one")],
      examples: { "trunkline config untrust": "From now on it can set only what is harmless." },
    },
  }),
};
