import { existsSync } from "node:fs";

import type { Scripted, ScriptedCall } from "../agent/fake-llm.ts";
import { Packages } from "../support/packages.ts";
import { to, toCall } from "./fake-prompts.ts";

export interface AgentEntry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Somebody else's agent, from npm, that speaks ACP and asks a model that we give it. */
export interface OtherAgent {
  readonly name: string;
  /** Installs it; its program, or undefined where there is none for this machine. */
  install(): Promise<string | undefined>;
  /** Its entry under `agents`. */
  entry(command: string, llm: string): AgentEntry;
  /** What the model says to have a file written. */
  write(path: string, content: string): ScriptedCall;
  /** What the model says to have a file read. */
  read(path: string): ScriptedCall;
  /** What the model says to have one line of a file replaced. */
  edit(path: string, before: string, after: string): ScriptedCall;
  /** What the model says to have a command run. */
  run(command: string): ScriptedCall;
  /** Further prompts of the comparison, with what the model says to them: a plan, a subagent, a compaction. */
  readonly more?: Readonly<Record<string, readonly Scripted[]>>;
  /** The mode that it begins with, in which it asks before it writes; one in which it does not. */
  readonly modes: readonly [asking: string, trusting: string];
  /** The model that it begins with, and another. */
  readonly models: readonly [first: string, other: string];
  /** What its requests call a model, where that is not the end of the model's id. */
  readonly called?: Readonly<Record<string, string>>;
  /** Writes files itself, and not through the editor. */
  readonly writesItself?: true;
  /** What it says when two programs want the same session, where it has a lock. */
  readonly locked?: RegExp;
  /** How a turn ends in which the person refuses a call. */
  readonly refused?: "cancelled";
  /** Variables with which it tells the model of all tools at once, where it does not. */
  readonly allTools?: Readonly<Record<string, string>>;
  /** A command of its own that lists the tools of MCP servers, where the model is told of them otherwise. */
  readonly listsTools?: string;
}

/** What the model says to have a subagent count files, and what the subagent's model says. */
function counting(call: ScriptedCall): Scripted[] {
  return [
    ...toCall("use a subagent", { toolCalls: [call] }, "The subagent has counted."),
    to(COUNT, { content: "There are two files." }),
  ];
}

const COUNT = "count the files";

/** What the model says to have a plan shown. */
function planning(call: ScriptedCall): Scripted[] {
  return toCall("make a plan", { toolCalls: [call] }, "It is planned.");
}

const MODEL = { limit: { context: 100_000, output: 4_000 } };

/** Where in its package the program of an agent is, for each processor that npm has it for. */
type Programs = Partial<Record<NodeJS.Architecture, string>>;

async function install(folder: string, programs: Programs): Promise<string | undefined> {
  const program = programs[process.arch];
  if (process.platform !== "linux" || program === undefined) return undefined;
  const packages = new Packages(folder);
  await packages.install();
  const path = packages.path(program);
  if (existsSync(path)) return path;
  throw new Error(`Cannot find ${path}: npm did not install it. Remove ${folder}/node_modules.`);
}

/** A script, with packages for both processors. */
function onBoth(program: string): Programs {
  return { x64: program, arm64: program };
}

/** Why it cannot be tried, and what to do about it. */
export function notHere({ name }: OtherAgent): string {
  return `${name} is not installed for ${process.platform} on ${process.arch}; where npm has a package for it, add that to test/interop/${name}/package.json`;
}

/** The command line of an agent that is a script. */
function script(path: string): { command: string; args: string[] } {
  return { command: process.execPath, args: [path] };
}

export const claude: OtherAgent = {
  name: "claude-agent-acp",
  install: () =>
    install(
      "test/interop/claude-agent-acp",
      onBoth("@agentclientprotocol/claude-agent-acp/dist/index.js"),
    ),
  entry: (path, llm) => ({
    ...script(path),
    env: {
      ANTHROPIC_BASE_URL: llm,
      ANTHROPIC_API_KEY: "none",
      // It refuses to work for root elsewhere.
      IS_SANDBOX: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
  }),
  read: (path) => ({ name: "Read", arguments: { file_path: path } }),
  edit: (path, before, after) => ({
    name: "Edit",
    arguments: { file_path: path, old_string: before, new_string: after },
  }),
  write: (name, content) => ({ name: "Write", arguments: { file_path: name, content } }),
  run: (command) => ({ name: "Bash", arguments: { command, description: "Runs it" } }),
  more: {
    "make a plan": planning({
      name: "TaskCreate",
      arguments: { subject: "Look", description: "Look around", activeForm: "Looking" },
    }),
    "use a subagent": counting({
      name: "Agent",
      arguments: {
        ...{ description: "Count", prompt: COUNT, subagent_type: "general-purpose" },
        run_in_background: false,
      },
    }),
    "/compact": [],
  },
  modes: ["default", "acceptEdits"],
  models: ["default", "haiku"],
  allTools: { ENABLE_TOOL_SEARCH: "false" },
  called: { default: "claude-opus-5-5", haiku: "claude-haiku-5-5" },
  writesItself: true,
};

/** A patch in codex's own format, as a command that it recognises. */
function patch(...lines: readonly string[]): ScriptedCall {
  const text = ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
  return { name: "exec_command", arguments: { cmd: `apply_patch <<'EOF'\n${text}\nEOF\n` } };
}

export const codex: OtherAgent = {
  name: "codex-acp",
  install: () =>
    install("test/interop/codex-acp", onBoth("@agentclientprotocol/codex-acp/dist/index.js")),
  entry: (path, llm) => ({
    ...script(path),
    env: {
      CODEX_CONFIG: JSON.stringify({
        // The newest of its models that calls tools as functions; later ones write JavaScript for it.
        model: "gpt-5.5",
        model_provider: "fake",
        model_providers: {
          fake: {
            name: "fake",
            base_url: `${llm}/v1`,
            wire_api: "responses",
            env_key: "FAKE_KEY",
          },
        },
      }),
      FAKE_KEY: "none",
      INITIAL_AGENT_MODE: "read-only",
      // It puts the program of its sandbox into its home, unless that is a temporary folder.
      TMPDIR: "/var/tmp",
    },
  }),
  read: (path) => ({ name: "exec_command", arguments: { cmd: `cat ${path}` } }),
  edit: (path, before, after) => patch(`*** Update File: ${path}`, "@@", `-${before}`, `+${after}`),
  write: (path, content) => patch(`*** Add File: ${path}`, `+${content}`),
  run: (cmd) => ({
    name: "exec_command",
    arguments: { cmd, sandbox_permissions: "require_escalated", justification: "Runs it" },
  }),
  more: {
    "make a plan": planning({
      name: "update_plan",
      arguments: { plan: [{ step: "Look", status: "in_progress" }] },
    }),
    "/compact": [],
  },
  modes: ["read-only", "agent-full-access"],
  models: ["gpt-5.5", "gpt-6-luna"],
  writesItself: true,
  locked: /This Codex session is in use by another Codex client/,
  refused: "cancelled",
  listsTools: "/mcp",
};

export const opencode: OtherAgent = {
  name: "opencode",
  install: () =>
    install("test/interop/opencode", {
      // Runs on processors without AVX2, too.
      x64: "opencode-linux-x64-baseline/bin/opencode",
      arm64: "opencode-linux-arm64/bin/opencode",
    }),
  entry: (command, llm) => ({
    command,
    args: ["acp"],
    env: {
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        provider: {
          fake: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${llm}/v1`, apiKey: "none" },
            models: { "fake-1": MODEL, "fake-2": MODEL },
          },
        },
        enabled_providers: ["fake"],
        model: "fake/fake-1",
        permission: { edit: "ask", bash: "ask" },
        agent: { trusted: { mode: "primary", permission: { edit: "allow" } } },
        autoupdate: false,
      }),
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    },
  }),
  read: (filePath) => ({ name: "read", arguments: { filePath } }),
  edit: (filePath, before, after) => ({
    name: "edit",
    arguments: { filePath, oldString: before, newString: after },
  }),
  write: (filePath, content) => ({ name: "write", arguments: { filePath, content } }),
  run: (command) => ({ name: "bash", arguments: { command, description: "Runs it" } }),
  more: {
    "make a plan": planning({
      name: "todowrite",
      arguments: { todos: [{ content: "Look", status: "in_progress", priority: "high" }] },
    }),
    "use a subagent": counting({
      name: "task",
      arguments: { description: "Count", prompt: COUNT, subagent_type: "general" },
    }),
  },
  modes: ["build", "trusted"],
  models: ["fake/fake-1", "fake/fake-2"],
};

export const goose: OtherAgent = {
  name: "goose",
  install: () => install("test/interop/goose", { x64: "@aaif/goose-binary-linux-x64/bin/goose" }),
  entry: (command, llm) => ({
    command,
    args: ["acp"],
    env: {
      GOOSE_PROVIDER: "openai",
      GOOSE_MODEL: "gpt-4o",
      GOOSE_MODE: "approve",
      GOOSE_DISABLE_KEYRING: "1",
      OPENAI_HOST: llm,
      OPENAI_API_KEY: "none",
    },
  }),
  read: (path) => ({ name: "read", arguments: { path } }),
  edit: (path, before, after) => ({ name: "edit", arguments: { path, before, after } }),
  write: (path, content) => ({ name: "write", arguments: { path, content } }),
  run: (command) => ({ name: "shell", arguments: { command } }),
  modes: ["approve", "auto"],
  models: ["gpt-4o", "gpt-4.1"],
};
