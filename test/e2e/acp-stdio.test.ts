import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { covers } from "../support/requirement.ts";
import type { Message } from "../support/acp-app.ts";
import { Program } from "../support/program.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");

/** The program on stdio, with somebody else's agent in it. */
class Editor implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "trunkline-editor-"));
  readonly config = join(this.folder, "config.jsonc");
  readonly program: Program;
  #lastId = 0;

  constructor(agentArgs: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    const other = { command: process.execPath, args: [AGENT, ...agentArgs] };
    writeFileSync(this.config, JSON.stringify({ agent: "other", agents: { other } }));
    this.program = new Program(["acp", "--config", this.config], { env });
  }

  post(method: string, params: object): number {
    const id = ++this.#lastId;
    this.program.write({ jsonrpc: "2.0", id, method, params });
    return id;
  }

  get messages(): Message[] {
    return this.program.lines.map((line) => JSON.parse(line) as Message);
  }

  async answerTo(id: number | null): Promise<Message> {
    const isIt = (message: Message): boolean => message.id === id && message.method === undefined;
    await this.program.until(() => this.messages.some(isIt));
    return this.messages.find(isIt) ?? {};
  }

  hello(): Promise<Message> {
    return this.answerTo(this.post("initialize", { protocolVersion: 1 }));
  }

  async begin(): Promise<string> {
    const created = await this.answerTo(this.post("session/new", { cwd: this.folder }));
    return created.result.sessionId as string;
  }

  prompt(sessionId: string, text: string): number {
    return this.post("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  }

  /** What the agent said to a prompt. */
  async say(sessionId: string, text: string): Promise<string> {
    const before = this.messages.length;
    const { result, error } = await this.answerTo(this.prompt(sessionId, text));
    if (error !== undefined) throw Object.assign(new Error(error.message), error);
    assert.equal(result.stopReason, "end_turn");
    return this.messages
      .slice(before)
      .filter(({ params }) => params?.sessionId === sessionId)
      .map(({ params }) => params.update.content?.text ?? "")
      .join("");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.program.child.stdin.end();
    await this.program.exit;
    await this.program[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true });
  }
}

describe("trunkline acp", { timeout: 600_000 }, () => {
  // For the tests that need no program of their own.
  let editor: Editor;
  before(async () => {
    editor = new Editor();
    await editor.hello();
  });
  after(() => editor[Symbol.asyncDispose]());

  it("answers malformed messages and continues; answers come in any order", async () => {
    covers("acp.error.parse", "acp.parse.malformed", "acp.content.utf8", "acp.order.out-of-order");
    covers("acp.transport.ndjson");
    const first = await editor.begin();
    const second = (await editor.answerTo(editor.post("session/new", { cwd: "/" }))).result;
    const endless = editor.prompt(first, "forever");
    editor.program.write("{oops");
    assert.equal((await editor.answerTo(null)).error.code, -32700);
    editor.program.child.stdin.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]));
    assert.equal(await editor.say(second.sessionId as string, "say hi"), "hi");
    const parseErrors = editor.messages.filter(({ error }) => error?.code === -32700);
    assert.equal(parseErrors.length, 2);
    editor.program.write({
      jsonrpc: "2.0",
      method: "session/cancel",
      params: { sessionId: first },
    });
    assert.equal((await editor.answerTo(endless)).result.stopReason, "cancelled");
  });

  it("skips a message that is too large to keep", async () => {
    covers("acp.parse.large");
    const sessionId = await editor.begin();
    const { stdin } = editor.program.child;
    stdin.write(`{"jsonrpc":"2.0","id":77,"method":"session/prompt","params":{"pad":"`);
    for (let at = 0; at < 40; at++) stdin.write("x".repeat(1024 * 1024));
    stdin.write('"}}\n');
    assert.equal((await editor.answerTo(77)).error.code, -32600);
    assert.equal(await editor.say(sessionId, "say still here"), "still here");
  });

  it("logs every message with its session if asked to, and masks secrets", async () => {
    covers(
      "acp.log.requests",
      "acp.log.answers",
      "acp.log.session",
      "acp.log.masked",
      "acp.parse.logged",
    );
    const token = "ghp_0123456789abcdefghijABCDEFGHIJ";
    await using editor = new Editor([], { TRUNKLINE_VERBOSE: "1" });
    await editor.hello();
    const sessionId = await editor.begin();
    await editor.say(sessionId, `say ${token}`);
    editor.program.write("{oops");
    await editor.answerTo(null);
    // The log travels apart from the answers; it is whole once the program has ended.
    editor.program.child.stdin.end();
    assert.equal(await editor.program.exit, 0);
    const events = editor.program.stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Message);
    const about = (event: string, method: string | undefined) =>
      events.find(
        (one) => one.event === event && one.method === method && one.session !== undefined,
      );
    assert.equal(about("rpc.received", "session/prompt")?.session, sessionId);
    assert.equal(about("rpc.sent", "session/update")?.session, sessionId);
    assert.equal(about("rpc.sent", undefined)?.session, sessionId);
    const end = events.find(({ event, result }) => event === "rpc.sent" && result?.stopReason);
    assert.equal(end?.session, sessionId, "the answer to a prompt does not name its session");
    assert.ok(events.some(({ event, unreadable }) => event === "rpc.received" && unreadable));
    assert.ok(!editor.program.stderr.includes(token));
    assert.ok(
      editor.program.lines.some((line) => line.includes(token)),
      "the client gets it as it is",
    );
  });

  it("restricts an external agent's file access to the workspace", async () => {
    covers("acp.path.traversal", "acp.path.absolute");
    const id = await editor.begin();
    const { folder } = editor;
    assert.equal(await editor.say(id, `write ${folder}/new/a.txt|some text`), "written");
    assert.equal(await editor.say(id, `read ${folder}/new/a.txt`), "some text");
    assert.match(await editor.say(id, `read ${folder}/../../etc/passwd`), /error -31701/);
    assert.match(await editor.say(id, "read /etc/passwd"), /error -31701 Permission denied/);
    assert.match(await editor.say(id, `read ${folder}/none`), /error -31700 File not found/);
    assert.match(await editor.say(id, "read a.txt"), /error -32602 .*must be an absolute path/);
  });

  it("reports that an external agent died, and a new one continues the session", async () => {
    for (const [args, recalled] of [
      [["--loads"], /^loaded$/],
      [
        [],
        /^_Agent 'other' had to start a new session: it gets the conversation .*_\n\nundefined$/,
      ],
    ] as const) {
      await using editor = new Editor(args);
      await editor.hello();
      const id = await editor.begin();
      await editor.answerTo(editor.post("session/set_mode", { sessionId: id, modeId: "ask" }));
      await editor.say(id, "remember this");
      assert.equal(await editor.say(id, "recall"), "this");
      await assert.rejects(editor.say(id, "crash"), { message: /Agent 'other' ended/ });
      assert.match(await editor.say(id, "recall"), recalled);
      assert.equal(await editor.say(id, "mode"), "ask");
    }
  });

  it("passes the session's MCP servers to an external agent in the current form", async () => {
    const mcpServers = [{ name: "weather", type: "local", command: ["bun", "x"] }];
    const { result } = await editor.answerTo(editor.post("session/new", { cwd: "/", mcpServers }));
    const told = JSON.parse(await editor.say(result.sessionId as string, "mcp"));
    assert.deepEqual(told, [{ name: "weather", command: "bun", args: ["x"], env: [] }]);
  });

  it("streams thousands of chunks without losing a character", async () => {
    const before = editor.messages.length;
    const text = await editor.say(await editor.begin(), "stream 5000");
    assert.equal(text, Array.from({ length: 5000 }, (_, at) => `${at} `).join(""));
    const count = editor.messages.length - before;
    assert.ok(count < 1000, `${count} messages in a minute`);
  });

  it("reports an unknown agent, or one that does not start", async () => {
    const wish = { cwd: "/", _meta: { trunkline: { agent: "othr" } } };
    const { error } = await editor.answerTo(editor.post("session/new", wish));
    assert.match(error.message, /Cannot find agent 'othr'. Did you mean 'other'\?/);
    const config = join(editor.folder, "gone.jsonc");
    const gone = { command: "/no/such/program" };
    writeFileSync(config, JSON.stringify({ agent: "gone", agents: { gone } }));
    await using program = new Program(["acp", "--config", config]);
    program.write({ jsonrpc: "2.0", id: 1, method: "session/new", params: { cwd: "/" } });
    const [answer] = await program.answers(1);
    assert.match(String(answer?.error?.["message"]), /Cannot start '\/no\/such\/program'/);
    program.child.stdin.end();
    assert.equal(await program.exit, 0);
  });
});
