import assert from "node:assert/strict";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { systemProgram } from "../../src/sandbox/remedy.ts";
import { runFromShell } from "../support/run-from-shell.ts";
import type { Json, Message } from "../support/acp-app.ts";
import { Program } from "../support/program.ts";
import { initRepository } from "../support/stored-folder.ts";
import type { FakeLlm } from "./fake-llm.ts";

export interface AgentEditorOptions {
  /** What the agent is to speak to; without it there is no model. */
  readonly llm?: FakeLlm;
  readonly files?: Readonly<Record<string, string>>;
  readonly config?: object;
  readonly env?: Readonly<Record<string, string>>;
  readonly capabilities?: object;
  /** Another copy of the program than that of this checkout. */
  readonly built?: string;
}

export const KEY = "sk-the-key-that-nobody-may-see-0123456789";

/** What a permission request says first where commands have no sandbox, and what its "always" covers. */
export const [NO_SANDBOX, UNCONFINED] =
  systemProgram("bwrap") === undefined ? ["Without a sandbox: ", ", without a sandbox"] : ["", ""];

/** One turn as the editor saw it. */
export interface SeenTurn {
  readonly stopReason: string;
  readonly text: string;
  readonly updates: readonly Json[];
  /** Of each tool call: its kind, title and last status. */
  readonly calls: readonly string[];
}

/** An editor that has started `trunkline acp`, with a workspace of its own and nothing configured. */
export class AgentEditor implements AsyncDisposable {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "trunkline-agent-")));
  /** The workspace of the session that was begun last. */
  cwd = join(this.folder, "work");
  readonly data = join(this.folder, "data");
  /** Texts that are not saved, by path; where there is one the editor answers with it. */
  readonly buffers = new Map<string, string>();
  /** What it was asked, in order. */
  readonly asked: Message[] = [];
  /** Answers questions for permission with the kind of an option; undefined leaves it open. */
  decide: (params: Json) => string | undefined = () => "allow_once";
  /** What a question fails with instead; undefined where it does not. */
  fail: (message: Message) => { code: number; message: string } | undefined = () => undefined;
  program: Program;
  readonly #options: AgentEditorOptions;
  #read = 0;
  #messages: Message[] = [];
  #lastId = 0;

  constructor(options: AgentEditorOptions = {}) {
    this.#options = options;
    mkdirSync(this.cwd);
    for (const [name, text] of Object.entries(options.files ?? {})) this.write(name, text);
    const config = { ...options.config, models: { local: false, ...modelsOf(options.config) } };
    writeFileSync(join(this.folder, "config.jsonc"), JSON.stringify(config));
    this.program = this.#start();
  }

  /** An editor with a session, ready to be used. */
  static async open(options: AgentEditorOptions = {}): Promise<AgentEditor & { id: string }> {
    const editor = new AgentEditor(options);
    try {
      const { sessionId } = await editor.begin();
      return Object.assign(editor, { id: String(sessionId) });
    } catch (error) {
      await editor[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Begins another session, in a new workspace, for a test that needs no program of its own. */
  async another(files: Readonly<Record<string, string>> = {}, more: object = {}): Promise<string> {
    this.cwd = mkdtempSync(join(this.folder, "work-"));
    for (const [name, text] of Object.entries(files)) this.write(name, text);
    void this.messages;
    this.#messages = [];
    this.asked.length = 0;
    this.decide = () => "allow_once";
    const params = { cwd: this.cwd, mcpServers: [], ...more };
    const { sessionId } = await this.ask("session/new", params);
    return String(sessionId);
  }

  /** Says hello and begins a session. */
  async begin(more: object = {}): Promise<Message> {
    await this.hello();
    return this.ask("session/new", { cwd: this.cwd, mcpServers: [], ...more });
  }

  hello(): Promise<Message> {
    const { capabilities: clientCapabilities = {} } = this.#options;
    return this.ask("initialize", { protocolVersion: 1, clientCapabilities });
  }

  /** Ends the program, hard, and starts it again. */
  async killed(): Promise<void> {
    this.program.child.kill("SIGKILL");
    await this.program.exit;
    await this.program[Symbol.asyncDispose]();
    this.#read = 0;
    this.#messages = [];
    this.program = this.#start();
    await this.hello();
  }

  get messages(): readonly Message[] {
    for (; this.#read < this.program.lines.length; this.#read++) {
      const message = JSON.parse(this.program.lines[this.#read] ?? "") as Message;
      this.#messages.push(message);
      if (message.method !== undefined && message.id !== undefined) this.#answer(message);
    }
    return this.#messages;
  }

  post(method: string, params: object): number {
    const id = ++this.#lastId;
    this.program.write({ jsonrpc: "2.0", id, method, params });
    return id;
  }

  cancel(sessionId: string): void {
    this.program.write({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } });
  }

  /** Resolves to the first message that is meant. */
  async find(isIt: (message: Message) => boolean): Promise<Message> {
    await this.program.until(() => this.messages.some(isIt));
    return this.#messages.find(isIt) ?? {};
  }

  async answerTo(id: number): Promise<Message> {
    const { result, error } = await this.find((it) => it.id === id && it.method === undefined);
    if (error !== undefined) throw Object.assign(new Error(error.message), error);
    return result as Message;
  }

  ask(method: string, params: object): Promise<Message> {
    return this.answerTo(this.post(method, params));
  }

  prompt(sessionId: string, text: string, more: object = {}): number {
    const prompt = [{ type: "text", text }];
    return this.post("session/prompt", { sessionId, prompt, ...more });
  }

  /** Has a turn, and gives what was seen of it. */
  async say(sessionId: string, text: string): Promise<SeenTurn> {
    const before = this.messages.length;
    const { stopReason } = await this.answerTo(this.prompt(sessionId, text));
    return seenTurn(String(stopReason), this.updatesOf(sessionId, before));
  }

  updatesOf(sessionId: string, after = 0): Json[] {
    return this.messages
      .slice(after)
      .filter(({ method, params }) => method === "session/update" && params.sessionId === sessionId)
      .map(({ params }) => params.update);
  }

  write(name: string, text: string): void {
    const path = join(this.cwd, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  read(name: string): string {
    return readFileSync(join(this.cwd, name), "utf8");
  }

  git(...args: string[]): string {
    return runFromShell("git", args, { cwd: this.cwd });
  }

  /** Makes the workspace a repository with all that is in it. */
  commitAll(): void {
    initRepository(this.cwd);
    const settings = "[user]\nname = T\nemail = t@example.org\n[maintenance]\nauto = false\n";
    appendFileSync(join(this.cwd, ".git/config"), settings);
    this.git("add", "-A");
    this.git("commit", "-q", "-m", "start");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.program.child.stdin.end();
    const code = await this.program.exit;
    await this.program[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true });
    assert.equal(code, 0, this.program.stderr);
  }

  #start(): Program {
    const { llm, env = {}, built } = this.#options;
    const model =
      llm === undefined ? {} : { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${llm.url}/v1` };
    const config = join(this.folder, "config.jsonc");
    return new Program(["acp", "--config", config, "--data", this.data], {
      env: { ...model, ...env },
      ...(built === undefined ? {} : { built }),
    });
  }

  #answer(message: Message): void {
    const { id, method, params } = message;
    this.asked.push(message);
    const result = (answer: object): void => {
      this.program.write({ jsonrpc: "2.0", id, result: answer });
    };
    const error = this.fail(message);
    if (error !== undefined) {
      this.program.write({ jsonrpc: "2.0", id, error });
    } else if (method === "session/request_permission") {
      const kind = this.decide(params);
      if (kind === undefined) return;
      const option = params.options.find((each: Json) => each.kind === kind);
      result({ outcome: { outcome: "selected", optionId: option.optionId } });
    } else if (method === "fs/read_text_file") {
      const content = this.buffers.get(params.path) ?? readFileSync(params.path, "utf8");
      result({ content });
    } else if (method === "fs/write_text_file") {
      this.buffers.set(params.path, params.content);
      result({});
    } else if (method?.startsWith("terminal/")) {
      result(terminalAnswer(method));
    } else {
      const unknown = { code: -32601, message: `Method not found: ${method}` };
      this.program.write({ jsonrpc: "2.0", id, error: unknown });
    }
  }
}

/** Of a terminal in which everything is done at once. */
function terminalAnswer(method: string): object {
  if (method === "terminal/create") return { terminalId: "t1" };
  if (method === "terminal/wait_for_exit") return { exitCode: 0, signal: null };
  if (method === "terminal/output") return { output: "said in the terminal\n", truncated: false };
  return {};
}

function modelsOf(config: object = {}): object {
  return (config as { models?: object }).models ?? {};
}

function seenTurn(stopReason: string, updates: readonly Json[]): SeenTurn {
  const calls = new Map<string, Json>();
  for (const update of updates) {
    if (!String(update.sessionUpdate).startsWith("tool_call")) continue;
    const { toolCallId } = update;
    calls.set(toolCallId, { ...calls.get(toolCallId), ...update });
  }
  return {
    stopReason,
    updates,
    text: updates
      .filter(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk")
      .map(({ content }) => content.text)
      .join(""),
    calls: Array.from(calls.values(), ({ kind, title, status }) => `${kind} ${title}: ${status}`),
  };
}
