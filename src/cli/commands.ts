import type { Command } from "./shell/command.ts";
import { config } from "./config/config-command.ts";
import { doctor } from "./doctor/doctor-command.ts";
import { identity } from "./identity/identity-command.ts";
import { models } from "./models/models-command.ts";
import { orchestrator } from "./serve/orchestrator-command.ts";
import { plugin } from "./plugin/plugin-command.ts";
import { review } from "./review/review-command.ts";
import { run } from "./run/run-command.ts";
import { session } from "./session/session-command.ts";
import { setup } from "./review/setup-command.ts";
import { token } from "./token/token-command.ts";
import { tools } from "./tools/tools-command.ts";

const serve: Command = {
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
  load: () => import("./serve/serve.ts"),
};

const open: Command = {
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
  load: () => import("./serve/open.ts"),
};

const mcp: Command = {
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
  load: () => import("./serve/mcp.ts"),
};

const acp: Command = {
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
  load: () => import("./serve/acp.ts"),
};

const completion: Command = {
  name: "completion",
  summary: "Print a script that completes commands in a shell",
  description:
    "The script knows every command and option by itself, so pressing Tab starts nothing.",
  args: [{ name: "SHELL", describe: "The shell to write for", choices: ["bash", "zsh", "fish"] }],
  examples: [
    { run: 'eval "$(trunkline completion bash)"', explains: "In ~/.bashrc." },
    {
      run: "trunkline completion zsh > ~/.zfunc/_trunkline",
      explains: "Where ~/.zfunc is in fpath before compinit runs.",
    },
    {
      run: "trunkline completion fish > ~/.config/fish/completions/trunkline.fish",
      explains: "From the next fish on.",
    },
  ],
  load: () => import("./completion/completion.ts"),
};

const help: Command = {
  name: "help",
  summary: "Show what a command does and how it is used",
  args: [{ name: "COMMAND", describe: "The command", optional: true, variadic: true }],
  examples: [
    { run: "trunkline help", explains: "List the commands." },
    { run: "trunkline help config show", explains: "The same as `trunkline config show --help`." },
  ],
  load: () => import("./shell/help.ts"),
};

/** The whole program. */
export const PROGRAM: Command = {
  name: "trunkline",
  summary: "The switchboard between the people and programs that work on code",
  options: {
    mode: {
      type: "string",
      value: "MODE",
      describe: "Run the command of that name, as RemoteJuggler is started",
      choices: ["mcp", "acp"],
      namesCommand: true,
    },
    version: { type: "boolean", short: "V", describe: "Print the version" },
    json: { type: "boolean", describe: "With --version: print JSON" },
  },
  examples: [
    { run: "trunkline serve", explains: "Run the gateway." },
    { run: "trunkline help serve", explains: "Read about one command." },
    { run: "trunkline --mode=mcp", explains: "The same as `trunkline mcp`." },
  ],
  commands: [
    serve,
    open,
    mcp,
    acp,
    run,
    session,
    models,
    orchestrator,
    tools,
    plugin,
    review,
    identity,
    token,
    config,
    setup,
    doctor,
    completion,
    help,
  ],
};
