import { type Command, flag, text } from "../shell/command.ts";
import { BUS, NODE_NAME, POOL } from "../worker/worker-command.ts";

export const serve: Command = {
  name: "serve",
  summary: "Run the gateway: MCP, ACP and a dashboard over HTTP",
  description:
    "Serves MCP over HTTP on /mcp and ACP over WebSocket and HTTP on /acp, a dashboard on /, health " +
    "checks on /healthz and /readyz, and metrics on /metrics. Stop it with Ctrl-C or SIGTERM.\n\n" +
    "Every request needs a token, also from this machine. Your own is in a file of the data folder " +
    "that only you can read. `trunkline token create` makes more, and `serve.oauth` in the " +
    "configuration accepts those of an authorization server. A browser logs in with a link that " +
    "works once; `serve` prints one when it starts, and `trunkline open` prints another.",
  options: {
    // No defaults here: the configuration has them, and may say otherwise.
    host: text("HOST", "Address to listen on, instead of the configured one (127.0.0.1)"),
    port: text(
      "PORT",
      "Port to listen on, instead of the configured one (4180); 0 picks a free one",
    ),
    open: flag("Open the dashboard in your browser, and at the very first start a demo"),
    json: flag("Print one JSON line with the addresses once it is ready"),
    "no-auth": flag("For development, on loopback only: accept requests without a token"),
    bus: BUS,
    pool: POOL,
    name: NODE_NAME,
    "unsafe-no-sandbox": flag("Let agents of remote runs do whatever you can on this machine"),
  },
  examples: {
    "trunkline serve": "Serve this machine.",
    "trunkline serve --host 0.0.0.0": "Serve other machines too.",
    "trunkline serve --port 0 --json":
      "Pick a free port, and print the addresses as a line of JSON.",
    "trunkline serve --bus nats://127.0.0.1:4222":
      "Let workers on other machines hold the sessions.",
  },
  load: () => import("./serve.ts"),
};

export const open: Command = {
  name: "open",
  summary: "Open the running gateway in a browser",
  description:
    "Prints a login link that works once, within 15 minutes, and opens it if this machine has a " +
    "screen. The browser stays logged in for 12 hours, or until `trunkline token revoke`.\n\n" +
    "With --qr it draws the link for the camera of a phone, which then stays logged in until " +
    "nobody has used it for 30 days. The phone must reach the gateway: at `serve.publicUrl` of the configuration, " +
    "or in your network.",
  options: {
    qr: flag("Pair a phone: draw a link that works once as a QR code"),
    print: flag("Print the link without opening it"),
    json: flag("Print the link as JSON, without opening it"),
  },
  examples: {
    "trunkline open": "Open the dashboard.",
    "trunkline open --print": "Get a link to open yourself.",
    "trunkline open --qr": "Pair a phone.",
  },
  load: () => import("./open.ts"),
};

export const mcp: Command = {
  name: "mcp",
  isForPrograms: true,
  summary: "Serve MCP on standard input and output",
  description:
    "Assistants such as Claude Code, Cursor and Codex start this to use the tools. Standard output " +
    "carries only the protocol; the log goes to standard error.",
  options: {
    "orchestrator-addr": text(
      "HOST:PORT",
      "Offer the tools of the plugin bus at this address instead; tls://HOST:PORT uses TCP, not UDP",
    ),
    "certs-dir": text(
      "DIR",
      "With --orchestrator-addr: folder of its certificates, instead of the configured one",
    ),
    profile: text("NAME", "Offer what this profile of the configuration shows", {
      names: "profile",
    }),
  },
  examples: {
    "trunkline mcp": "Offer every tool to the program that started it.",
    "trunkline mcp --profile reading": "Offer the tools of a profile.",
    "claude mcp add trunkline -- trunkline mcp": "Add Trunkline to Claude Code.",
    "trunkline mcp --orchestrator-addr localhost:50100 --certs-dir ~/.orchestra/certs":
      "Connect to a plugin bus, as Orchestra's transport.stdio does.",
    "TRUNKLINE_VERBOSE=1 trunkline mcp 2>protocol.log": "Log every message to a file.",
  },
  load: () => import("./mcp.ts"),
};

export const acp: Command = {
  name: "acp",
  isForPrograms: true,
  summary: "Serve ACP on standard input and output",
  description:
    "Editors such as Zed and the JetBrains IDEs start this to talk to an agent. Standard output " +
    "carries only the protocol; the log goes to standard error.",
  options: {
    dialect: text("DIALECT", "Protocol to speak; auto decides by the first message", {
      choices: ["auto", "acp", "juggler"],
      default: "auto",
    }),
    agent: text("NAME", "Agent of new sessions: one of the configured `agents`, or trunkline", {
      names: "agent",
    }),
    worktree: flag("Give each new session a work tree of its own, and a branch for it"),
    login: text("AGENT:METHOD", "Log in to an agent in this terminal; editors use it"),
  },
  examples: {
    "trunkline acp": "Serve the editor that started it.",
    "trunkline acp --dialect acp": "Speak the Agent Client Protocol only.",
    "trunkline acp --dialect juggler": "Speak RemoteJuggler's action protocol only.",
  },
  load: () => import("./acp.ts"),
};

export const lsp: Command = {
  name: "lsp",
  isForPrograms: true,
  summary: "Serve review threads to an editor, as a language server",
  description:
    "Neovim, Helix, Emacs and other editors start this. Threads are diagnostics that follow your " +
    "text while you type; code actions comment, reply, resolve, and apply suggestions. Standard " +
    "output carries only the protocol; the log goes to standard error.",
  examples: {
    "trunkline lsp": "Serve the editor that started it.",
    "trunkline setup helix": "Have Helix start it.",
  },
  load: () => import("./lsp.ts"),
};

export const orchestrator: Command = {
  name: "orchestrator",
  summary: "Run only the plugin bus",
  description:
    "Starts the plugins of the configuration, restarts those that crash, and connects them with " +
    "each other and with `trunkline mcp --orchestrator-addr`, `trunkline plugin` and Orchestra's own " +
    "programs. `trunkline serve` runs a bus too if the configuration has plugins. Stop it with " +
    "Ctrl-C or SIGTERM.",
  options: {
    listen: text(
      "HOST:PORT",
      "Address to listen on, instead of the configured one (localhost:50100); port 0 picks a " +
        "free one, tls://HOST:PORT uses TCP, not UDP",
    ),
    "certs-dir": text("DIR", "Folder of the certificates, instead of the configured one"),
    config: text(
      "FILE",
      "Configuration file; a file that ends in .yaml is read as Orchestra's plugins.yaml",
    ),
    json: flag("Print one JSON line with the address once it is ready"),
  },
  examples: {
    "trunkline orchestrator": "Run the configured plugins.",
    "trunkline orchestrator --config plugins.yaml": "Run the plugins of an Orchestra workspace.",
    "trunkline orchestrator --listen localhost:0 --json":
      "Pick a free port, and print the address as a line of JSON.",
  },
  load: () => import("./orchestrator.ts"),
};
