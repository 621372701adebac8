import type { Command } from "../shell/command.ts";

export const serve: Command = {
  name: "serve",
  summary: "Run the whole gateway",
  description:
    "Listens for MCP over HTTP on /mcp and for ACP over WebSocket on /acp. It shows its state to " +
    "people on /, to monitors on /healthz and /metrics. Stop it with Ctrl-C or SIGTERM.\n\n" +
    "All who come have to show a token, on this machine too: being here is not being you. Yours is " +
    "in a file of the data folder that only you can read; `trunkline token create` makes others, " +
    "and `serve.oauth` takes those of an authorization server. A browser comes in by a link that " +
    "works once, which is shown at the start and by `trunkline open`.",
  options: {
    // No defaults here: the configuration has them, and may say otherwise.
    host: {
      type: "string",
      value: "HOST",
      describe: "Address to listen on, instead of the configured one (127.0.0.1)",
    },
    port: {
      type: "string",
      value: "PORT",
      describe: "Port to listen on, instead of the configured one (4180); 0 picks a free one",
    },
    json: { type: "boolean", describe: "Print one JSON line with the addresses once it is ready" },
    "no-auth": {
      type: "boolean",
      describe: "For development, on loopback alone: ask nobody on this machine for a token",
    },
  },
  examples: [
    { run: "trunkline serve", explains: "Serve programs on this machine." },
    {
      run: "trunkline serve --host 0.0.0.0",
      explains: "Serve other machines too.",
    },
    {
      run: "trunkline serve --port 0 --json",
      explains: "Serve on a free port, and say which in a line that a script can read.",
    },
  ],
  load: () => import("./serve.ts"),
};

export const open: Command = {
  name: "open",
  summary: "Let a browser into the gateway that is running",
  description:
    "Prints a link that works once, within 15 minutes, and opens it where there is a screen. The " +
    "browser is let in for 12 hours, or until `trunkline token rotate`.",
  options: {
    print: { type: "boolean", describe: "Only print the link" },
    json: { type: "boolean", describe: "Only print the link, as JSON" },
  },
  examples: [
    { run: "trunkline open", explains: "Open the gateway's page." },
    { run: "trunkline open --print", explains: "For a browser on another screen." },
  ],
  load: () => import("./open.ts"),
};

export const mcp: Command = {
  name: "mcp",
  summary: "Speak MCP on standard input and output",
  description:
    "This is what an assistant (Claude Code, Cursor, Codex and others) starts to use the tools. " +
    "Only the protocol is written to standard output; the log goes to standard error.",
  options: {
    "orchestrator-addr": {
      type: "string",
      value: "HOST:PORT",
      describe: "Offer the tools of the orchestrator there instead; tls://HOST:PORT without UDP",
    },
    "certs-dir": {
      type: "string",
      value: "DIR",
      describe:
        "With --orchestrator-addr: folder of the certificates, instead of the configured one",
    },
  },
  examples: [
    { run: "trunkline mcp", explains: "Offer every tool to the program that started it." },
    {
      run: "claude mcp add trunkline -- trunkline mcp",
      explains: "Have Claude Code start it.",
    },
    {
      run: "trunkline mcp --orchestrator-addr localhost:50100 --certs-dir ~/.orchestra/certs",
      explains: "Be the bridge to a plugin bus, as Orchestra's transport.stdio is.",
    },
    {
      run: "TRUNKLINE_VERBOSE=1 trunkline mcp 2>protocol.log",
      explains: "Keep every message in a file.",
    },
  ],
  load: () => import("./mcp.ts"),
};

export const acp: Command = {
  name: "acp",
  summary: "Speak ACP on standard input and output",
  description:
    "This is what an editor (Zed, the JetBrains IDEs) starts to hold conversations with an agent. " +
    "Only the protocol is written to standard output; the log goes to standard error.",
  options: {
    dialect: {
      type: "string",
      value: "DIALECT",
      describe: "What to speak; auto goes by the first message",
      choices: ["auto", "acp", "juggler"],
      default: "auto",
    },
    agent: {
      type: "string",
      value: "NAME",
      describe: "Who works in new sessions: one of the configured `agents`, or trunkline",
    },
  },
  examples: [
    { run: "trunkline acp", explains: "Offer conversations to the editor that started it." },
    { run: "trunkline acp --dialect acp", explains: "Speak the Agent Client Protocol only." },
    { run: "trunkline acp --dialect juggler", explains: "Take RemoteJuggler's actions only." },
  ],
  load: () => import("./acp.ts"),
};

export const orchestrator: Command = {
  name: "orchestrator",
  summary: "Run the plugin bus alone",
  description:
    "Starts the plugins of the configuration, looks after them, and passes calls, events and " +
    "storage on between them and whoever connects: `trunkline mcp --orchestrator-addr`, " +
    "`trunkline plugin`, or Orchestra's own programs. `trunkline serve` runs a bus too, when the " +
    "configuration has one. Stop it with Ctrl-C or SIGTERM.",
  options: {
    listen: {
      type: "string",
      value: "HOST:PORT",
      describe:
        "Address to listen on, instead of the configured one (localhost:50100); port 0 picks a " +
        "free one, tls://HOST:PORT does without UDP",
    },
    "certs-dir": {
      type: "string",
      value: "DIR",
      describe: "Folder of the certificates, instead of the configured one",
    },
    config: {
      type: "string",
      value: "FILE",
      describe: "Configuration to read; one that ends in .yaml is a plugins.yaml of Orchestra",
    },
    json: { type: "boolean", describe: "Print one JSON line with the address once it is ready" },
  },
  examples: [
    { run: "trunkline orchestrator", explains: "Run the configured plugins." },
    {
      run: "trunkline orchestrator --config plugins.yaml",
      explains: "Run those of an Orchestra workspace.",
    },
    {
      run: "trunkline orchestrator --listen localhost:0 --json",
      explains: "On a free port, and say which in a line that a script can read.",
    },
  ],
  load: () => import("./orchestrator.ts"),
};
