import {
  arg,
  type Command,
  commandsIn,
  flag,
  type Options,
  project,
  text,
} from "../shell/command.ts";

/** How to connect to a running bus. */
const bus: Options = {
  "orchestrator-addr": text(
    "HOST:PORT",
    "Address of the bus, instead of the one that runs on the data folder",
  ),
  "certs-dir": text("DIR", "Folder of its certificates, instead of the one that it uses"),
};

const argument = arg("[ARGUMENT...]", "Arguments of the program, after `--`");

const id = text("ID", "Id of the plugin, instead of asking it");

const allowEverything = flag(
  "Let the plugin do everything that you can do on this machine, outside the sandbox",
);

const approve = flag(
  "Allow what the plugin asks for, without a question; not if that is everything",
);

export const plugin: Command = {
  name: "plugin",
  summary: "Create and add plugins, and manage those that are running",
  description:
    "`new` creates a plugin, `dev` runs it while you write it, and `add` adds it to the " +
    "configuration. `list`, `call`, `logs` and `restart` talk to a running bus: `plugin dev`, " +
    "`trunkline orchestrator`, or `trunkline serve` with plugins in its configuration.",
  examples: {
    "trunkline plugin new greeter": "Create a plugin with a test.",
    "trunkline plugin list": "Show the state of the plugins.",
  },
  commands: commandsIn(() => import("./plugin.ts"), {
    create: {
      name: "new",
      summary: "Create a plugin: a program, a test and instructions",
      args: [arg("NAME", "Name of the plugin and of its folder")],
      options: {
        dir: text("DIR", "Folder to create, instead of ./NAME"),
      },
      examples: { "trunkline plugin new greeter": "Create it in the folder greeter." },
    },
    add: {
      summary: "Add a plugin to your configuration file",
      description:
        "A file is the plugin's program. A folder or an installed npm package names it by " +
        "`trunkline` or `bin` in its package.json; without these it is plugin.ts. What it asks for is " +
        "read from trunkline.plugin.json beside it, or printed by the program in a sandbox, and you " +
        "are asked to approve it. A running gateway starts the plugin at once.",
      args: [arg("PLUGIN", "File, folder or installed npm package"), argument],
      options: {
        id,
        env: text("NAME=VALUE...", "Environment variable for the program; may be repeated"),
        mcp: flag("PLUGIN is the command of an MCP server on standard streams"),
        cwd: text("DIR", "With --mcp: folder that it is started in, instead of the current one"),
        approve,
        "allow-everything": allowEverything,
        replace: flag("Replace a plugin with the same id"),
        project,
      },
      examples: {
        "trunkline plugin add ./greet.mjs": "Add a file.",
        "trunkline plugin add PACKAGE": "Add an npm package that is installed.",
        "trunkline plugin add --mcp --id mcp.files --allow-everything -- npx -y SERVER .":
          "Add an MCP server as a plugin. It runs outside the sandbox.",
      },
    },
    approveAgain: {
      name: "approve",
      summary: "Approve what a configured plugin asks for now",
      description:
        "Asks about what a plugin wants that nobody was asked about: one that was added before plugins " +
        "had permissions, or one that wants more than when it was added.",
      args: [arg("ID", "The plugin", { names: "plugin" })],
      options: { approve, "allow-everything": allowEverything, project },
      examples: { "trunkline plugin approve tools.greet": "A running gateway starts it anew." },
    },
    remove: {
      summary: "Remove a plugin from your configuration file",
      args: [arg("ID", "The plugin", { names: "plugin" })],
      options: { project },
      examples: { "trunkline plugin remove tools.greet": "A running gateway ends it." },
    },
    dev: {
      printsNoData: true,
      summary: "Run a plugin while you write it: restart it on changes, print its log",
      description:
        "Starts a bus with this plugin alone, prints what it says, and starts it again whenever a file " +
        "in its folder changes. `trunkline plugin call` reaches it meanwhile. Stop it with Ctrl-C.",
      args: [arg("PLUGIN", "File or folder of the plugin"), argument],
      options: { id, "allow-everything": allowEverything },
      examples: { "trunkline plugin dev ./greet.mjs": "Watch its folder." },
      load: async () => ({ run: (await import("./dev.ts")).run }),
    },
    wrap: {
      isForPrograms: true,
      printsNoData: true,
      summary: "Run an MCP server as a plugin; orchestrators start this",
      description:
        "Starts an MCP server on standard streams and offers its tools and prompts on the bus. " +
        'In your configuration, `"mcp": ["npx", "SERVER"]` in `bus.plugins.ID` does the same, and ' +
        "`plugin add --mcp` writes that. Other orchestrators start this command.",
      args: [
        arg(
          "COMMAND...",
          "The command of the server, after `--`, and the flags of the orchestrator",
        ),
      ],
      options: {
        id: text("ID", "Id of the plugin, instead of the command"),
        cwd: text("DIR", "Folder that the server is started in"),
      },
      examples: {
        "trunkline plugin wrap -- npx SERVER --manifest": "Print what the plugin offers, as JSON.",
      },
      load: async () => ({ run: (await import("./dev.ts")).wrap }),
    },
    test: {
      summary: "Check a plugin or an orchestrator against the rules of the bus",
      description:
        "Checks any program that speaks the protocol of the bus, in any language, and prints which " +
        "rules hold, with the section that each is from. A command is started as an orchestrator " +
        "starts a plugin, with certificates of its own and all of your rights; --addr names a program that runs. Tools are " +
        "called only if you name one that may be called. The exit code is 1 if a rule does not hold.",
      args: [
        arg("[PLUGIN...]", "File, folder or command of a plugin, and its arguments after `--`"),
      ],
      options: {
        addr: text("HOST:PORT", "Address of a program that runs"),
        "certs-dir": text(
          "DIR",
          "With --addr: folder of its certificates, instead of the configured one",
        ),
        role: text("ROLE", "With --addr: what it is, instead of what its certificate says", {
          choices: ["plugin", "orchestrator"],
        }),
        tool: text("NAME", "A tool that may be called often"),
        stream: text("NAME", "A tool that answers in pieces"),
        args: text("JSON", "Arguments of both, as a JSON object", { default: "{}" }),
        timeout: text("SECONDS", "Time for each rule", { default: "15" }),
      },
      examples: {
        [`trunkline plugin test ./greet.mjs --tool greet --args '{"name":"Ada"}'`]:
          "Start a plugin, check it, and end it.",
        "trunkline plugin test --addr localhost:50100": "Check an orchestrator that runs.",
      },
      load: async () => ({ run: (await import("./test.ts")).run }),
    },
    list: {
      summary: "List the plugins of the bus with their state",
      options: { ...bus },
      examples: { "trunkline plugin list": "One line per plugin." },
    },
    call: {
      summary: "Call a tool of the bus and print its result",
      args: [arg("NAME", "The tool")],
      options: {
        args: text("JSON", "Arguments as a JSON object; - reads them from standard input", {
          default: "{}",
        }),
        ...bus,
      },
      examples: {
        [`trunkline plugin call greet --args '{"name":"Ada"}'`]: "Call a tool with an argument.",
      },
    },
    logs: {
      name: "log",
      formerly: ["logs"],
      summary: "Print the last log lines of a plugin",
      args: [arg("ID", "The plugin", { names: "plugin" })],
      options: { ...bus },
      examples: { "trunkline plugin log tools.greet": "Show its last lines." },
    },
    restart: {
      summary: "Restart a plugin",
      args: [arg("ID", "The plugin", { names: "plugin" })],
      options: { ...bus },
      examples: { "trunkline plugin restart tools.greet": "Restart it after a build." },
    },
  }),
};
