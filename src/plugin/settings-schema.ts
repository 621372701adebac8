import * as s from "../base/capability/settings.ts";

const ABSOLUTE: s.Setting = { type: "string", pattern: "^/[^*]*$" };

const pluginPermissions = s.shape(
  "PluginPermissions",
  "What a plugin may do, as approved by `plugin add`. Everything else is denied: by a " +
    "sandbox (`bus.sandbox`), in a process of its own, and by the bus.",
  {
    everything: s.flag(
      "Whether it runs outside the sandbox, with all of your rights. The bus limits it all " +
        "the same.",
    ),
    tools: s.list(
      s.ANY_TEXT,
      "Tools of others that it may call, whatever its manifest says; `*` for all.",
    ),
    read: s.list(ABSOLUTE, "Absolute paths that it may read, in addition to its own package."),
    write: s.list(ABSOLUTE, "Absolute paths that it may read and write."),
    run: s.flag("Whether it and the programs that it starts have all of your files."),
    hosts: s.list(
      s.NAME,
      "Hosts that it may reach beside the bus, none when left out: `api.example.org`, " +
        "`*.example.org`, `db.example.org:5432`, `localhost:PORT`; `*` for all but this " +
        "machine.",
    ),
    namespace: s.text(
      "Whose documents it uses: those of a plugin, mostly its own id, or `/` for those that " +
        "plugins share. Left out, nobody was asked, and it may use none: `trunkline plugin " +
        "approve` asks.",
      { pattern: "^(?:/|[A-Za-z0-9][A-Za-z0-9._-]*)$", "x-form": "the id of a plugin, or /" },
    ),
    publish: s.list(
      s.ANY_TEXT,
      "Topics that it may publish to, in addition to its own (`ID/…`); `*` for all.",
    ),
    subscribe: s.list(
      s.ANY_TEXT,
      "Topics that it may subscribe to, in addition to its own (`ID/…`); `*` for all.",
    ),
    provides: s.group(
      {
        tools: s.list(s.ANY_TEXT, "Tools; any when left out."),
        prompts: s.list(s.ANY_TEXT, "Prompts; any when left out."),
        storage: s.list(s.ANY_TEXT, "Kinds of storage, such as `markdown`."),
        ai: s.list(s.ANY_TEXT, "AI providers."),
        transport: s.list(s.ANY_TEXT, "Transports."),
      },
      { description: "What it may provide, by name; `*` for anything." },
    ),
  },
);

const pluginPin = s.shape(
  "PluginPin",
  "What was approved of its code, by `plugin add`. One that has changed is held until `trunkline plugin " +
    "approve`. Left out, it is not compared.",
  {
    version: s.text("The version that its manifest named."),
    sha256: s.text("Checksum of its file, with those of its package.", {
      pattern: "^[0-9a-f]{64}$",
      "x-form": "64 hexadecimal digits",
    }),
  },
  { required: ["sha256"] },
);

/** What is said of any plugin, however it is started. */
const PLUGIN: s.Settings = {
  pin: pluginPin,
  config: s.byName(s.ANY_TEXT, "Sent to it when it boots."),
  enabled: s.flag("Whether it is started; true when left out."),
  dependsOn: s.list(s.ANY_TEXT, "Plugins that have to be ready before it is started."),
  needsTools: s.list(
    s.ANY_TEXT,
    "Tools that it may call, in addition to its own and those in its manifest; `*` for all.",
  ),
  permissions: pluginPermissions,
  providesStorage: s.list(
    s.ANY_TEXT,
    "Kinds of storage that it provides, in addition to those in its manifest.",
  ),
  providesAi: s.list(
    s.ANY_TEXT,
    "AI providers that it implements, in addition to those in its manifest.",
  ),
  callTimeout: s.integer(
    "Milliseconds that it may take for a call, instead of `bus.callTimeout`.",
    {
      minimum: 1000,
      maximum: 2_147_483_647,
    },
  ),
  calls: s.integer(
    "Calls of clients that it answers at once; 128 when left out. More wait, in order. " +
      "Calls that plugins make and health checks do not count, and never wait.",
    { minimum: 1, maximum: 2048 },
  ),
  queue: s.integer(
    "Calls of clients that wait until it answers fewer; 2048 when left out. More are refused.",
    { minimum: 0, maximum: 100_000 },
  ),
};

const pluginCommand = s.shape(
  "PluginCommand",
  "A plugin: a program that is started and offers tools on the bus.",
  {
    ...s.PROGRAM,
    ...PLUGIN,
  },
  { required: ["command"] },
);

const pluginModule = s.shape(
  "PluginModule",
  "A plugin that is a module for Node.",
  {
    module: s.text("The module, as an absolute path."),
    args: s.ARGS,
    env: s.ENV,
    ...PLUGIN,
  },
  { required: ["module"] },
);

const pluginMcp = s.shape(
  "PluginMcp",
  "An MCP server on standard streams as a plugin: its tools and prompts.",
  {
    mcp: s.list(s.ANY_TEXT, 'The words that start the server, such as `["npx", "-y", "SERVER"]`.', {
      minItems: 1,
    }),
    cwd: s.path("Folder that it is started in."),
    env: s.ENV,
    ...PLUGIN,
  },
  { required: ["mcp"] },
);

const pluginProgram: s.Setting = {
  "x-name": "PluginProgram",
  description: "A plugin: a program, a module for Node, or an MCP server that is made one.",
  anyOf: [pluginCommand, pluginModule, pluginMcp],
};

/** Plugins on the bus. */
export const plugins = {
  name: "plugins",
  settings: {
    bus: s.shape("BusSettings", "The plugin bus.", {
      listen: s.text(
        "Address that the bus listens on, such as `localhost:50100`; `tls://HOST:PORT` where " +
          "UDP is blocked. `trunkline serve` has a bus when this is set or there are plugins.",
        {
          pattern: String.raw`^(?:(?:quic|tls)://)?(?:\[[^\]]+\]|[^:/[\]]+):\d{1,5}$`,
          "x-form": "HOST:PORT, quic://HOST:PORT or tls://HOST:PORT",
        },
      ),
      certsDir: s.path(
        "Folder of the certificates of the bus and its plugins; default `certs` in the data " +
          "folder.",
      ),
      clientCertificate: s.choice(
        ["require", "request"],
        "Whether every program that connects needs a certificate. `request` lets in programs " +
          "without one, as Orchestra does: anybody who reaches the address, a plugin too, can " +
          "then call every tool.",
        { default: "require" },
      ),
      callTimeout: s.integer(
        "Milliseconds that a plugin may take to answer a call, or to send the next piece of an " +
          "answer; then the call fails.",
        { minimum: 1000, maximum: 2_147_483_647, default: 600_000 },
      ),
      workspace: s.path(
        "Folder whose `.projects` holds what plugins store as Markdown; default `workspace` in " +
          "the data folder.",
      ),
      sandbox: s.choice(
        ["auto", "on", "off"],
        "Whether plugins run in a sandbox that keeps them to their `permissions`. `auto` and " +
          "`on`: they do, or are not started. `off`: they run with all of your rights.",
        { default: "auto", "x-project": false },
      ),
      plugins: s.byName(pluginProgram, "Plugins to start, by id.", { default: {} }),
    }),
  },
} satisfies s.SettingsSchema;
