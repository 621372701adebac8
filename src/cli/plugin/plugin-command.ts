import { type Command, json, type Options } from "../shell/command.ts";

/** How a bus that runs is reached. */
const bus: Options = {
  "orchestrator-addr": {
    type: "string",
    value: "HOST:PORT",
    describe: "Where the bus listens, instead of the configured address (localhost:50100)",
  },
  "certs-dir": {
    type: "string",
    value: "DIR",
    describe: "Folder of its certificates, instead of the configured one",
  },
};

export const plugin: Command = {
  name: "plugin",
  summary: "Write plugins, and look after those that run",
  description:
    "`new` begins a plugin. The others speak to a bus that runs: `trunkline orchestrator`, or " +
    "`trunkline serve` with plugins in its configuration.",
  examples: [
    { run: "trunkline plugin new greeter", explains: "Begin a plugin, with a test." },
    { run: "trunkline plugin list", explains: "How the plugins are that run." },
  ],
  commands: [
    {
      name: "new",
      summary: "Begin a plugin: a program, a test and how to run them",
      args: [{ name: "NAME", describe: "What it is called; also its folder" }],
      options: {
        dir: { type: "string", value: "DIR", describe: "Folder to make it in, instead of ./NAME" },
        json,
      },
      examples: [{ run: "trunkline plugin new greeter", explains: "In the folder greeter." }],
      load: async () => ({ run: (await import("./plugin.ts")).create }),
    },
    {
      name: "list",
      summary: "List the plugins that run, and how they are",
      options: { ...bus, json },
      examples: [{ run: "trunkline plugin list", explains: "A line for each." }],
      load: async () => ({ run: (await import("./plugin.ts")).list }),
    },
    {
      name: "call",
      summary: "Call a tool of the bus and print what it answers",
      args: [{ name: "NAME", describe: "The tool" }],
      options: {
        args: {
          type: "string",
          value: "JSON",
          describe: "Its arguments, an object",
          default: "{}",
        },
        ...bus,
        json,
      },
      examples: [
        {
          run: `trunkline plugin call greet --args '{"name":"Ada"}'`,
          explains: "Call a tool with an argument.",
        },
      ],
      load: async () => ({ run: (await import("./plugin.ts")).call }),
    },
    {
      name: "logs",
      summary: "Print what a plugin last said",
      args: [{ name: "ID", describe: "The plugin" }],
      options: { ...bus, json },
      examples: [{ run: "trunkline plugin logs tools.greet", explains: "Its last lines." }],
      load: async () => ({ run: (await import("./plugin.ts")).logs }),
    },
    {
      name: "restart",
      summary: "End a plugin and start it again",
      args: [{ name: "ID", describe: "The plugin" }],
      options: { ...bus, json },
      examples: [{ run: "trunkline plugin restart tools.greet", explains: "After a new build." }],
      load: async () => ({ run: (await import("./plugin.ts")).restart }),
    },
  ],
};
