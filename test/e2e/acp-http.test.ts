import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { WebSocket } from "ws";

import { bearer, GuardedHome } from "../support/guarded-gateway.ts";
import { readyOf } from "../support/owner-access.ts";
import { Program } from "../support/program.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const HELLO = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } };

class Gateway implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "trunkline-acp-http-"));
  readonly program: Program;
  url = "";
  owner: Record<string, string> = {};

  private constructor() {
    const config = join(this.folder, "config.jsonc");
    const other = { command: process.execPath, args: [AGENT] };
    writeFileSync(config, JSON.stringify({ agent: "other", agents: { other } }));
    this.program = new Program(["serve", "--port", "0", "--json", "--config", config]);
  }

  static async start(): Promise<Gateway> {
    const gateway = new Gateway();
    const [ready] = await gateway.program.answers(1);
    const { acp, headers } = readyOf(ready);
    gateway.url = acp.replace("ws", "http");
    gateway.owner = headers;
    return gateway;
  }

  fetch(
    init: Omit<RequestInit, "headers"> & { headers?: Record<string, string> } = {},
  ): Promise<Response> {
    return fetch(this.url, { ...init, headers: { ...this.owner, ...init.headers } });
  }

  post(body: object | string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.fetch({
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  }

  /** Says hello; gives the header that goes with every request after it. */
  async connect(): Promise<Record<string, string>> {
    const response = await this.post(HELLO);
    assert.equal(response.status, 200);
    const { result } = (await response.json()) as { result: { protocolVersion: number } };
    assert.equal(result.protocolVersion, 1);
    const id = response.headers.get("acp-connection-id") ?? "";
    assert.match(id, /^[0-9a-f-]{36}$/);
    return { "acp-connection-id": id };
  }

  listen(headers: Readonly<Record<string, string>>): Promise<Response> {
    return this.fetch({ headers: { accept: "text/event-stream", ...headers } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.program.child.kill("SIGTERM");
    await this.program.exit;
    await this.program[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true });
  }
}

describe("ACP on HTTP", { timeout: 600_000 }, () => {
  let gateway: Gateway;
  before(async () => {
    gateway = await Gateway.start();
  });
  after(() => gateway[Symbol.asyncDispose]());

  it("answers on the streams that the client opens, also what was sent before", async () => {
    const connection = await gateway.connect();
    const params = { cwd: gateway.folder };
    const created = await gateway.post(
      { jsonrpc: "2.0", id: 2, method: "session/new", params },
      connection,
    );
    assert.equal(created.status, 202);
    const events = (await gateway.listen(connection)).body?.getReader();
    const { value } = (await events?.read()) ?? {};
    const text = new TextDecoder().decode(value);
    const answer = JSON.parse(text.replace(/^data: /, "")) as {
      id: number;
      result: { sessionId: string };
    };
    assert.equal(answer.id, 2);
    const { sessionId } = answer.result;
    const prompt = [{ type: "text", text: "say hi" }];
    await gateway.post(
      { jsonrpc: "2.0", id: 3, method: "session/prompt", params: { sessionId, prompt } },
      { ...connection, "acp-session-id": sessionId },
    );
    const stream = await gateway.listen({ ...connection, "acp-session-id": sessionId });
    let said = "";
    for await (const chunk of stream.body ?? []) {
      said += new TextDecoder().decode(chunk);
      if (said.includes("stopReason")) break;
    }
    const messages = said.trim().split("\n\n");
    assert.match(messages.at(-2) ?? "", /"text":"hi"/);
    assert.equal(
      messages.at(-1),
      'data: {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}',
    );
    const ended = await gateway.fetch({ method: "DELETE", headers: connection });
    assert.equal(ended.status, 202);
    assert.equal((await gateway.listen(connection)).status, 404);
    await events?.cancel();
  });

  it("refuses invalid requests, and says why", async () => {
    const connection = await gateway.connect();
    const ping = { jsonrpc: "2.0", id: 2, method: "session/list", params: {} };
    const status = async (response: Promise<Response>): Promise<number> => {
      const { status: code, body } = await response;
      await body?.cancel();
      return code;
    };
    assert.equal(await status(gateway.post(ping, { "content-type": "text/plain" })), 415);
    assert.equal(await status(gateway.post("{oops", connection)), 400);
    assert.equal(await status(gateway.post([ping], connection)), 400);
    assert.equal(await status(gateway.post("1", connection)), 400);
    assert.equal(await status(gateway.post(ping)), 400);
    assert.equal(await status(gateway.post(HELLO, connection)), 400);
    assert.equal(await status(gateway.post(ping, { "acp-connection-id": "none" })), 404);
    assert.equal(await status(gateway.fetch({ headers: connection })), 406);
    assert.equal(await status(gateway.fetch()), 426);
    assert.equal(await status(gateway.fetch({ method: "PUT" })), 405);
    const other = { jsonrpc: "2.0", id: 3, method: "session/close", params: { sessionId: "a" } };
    assert.equal(await status(gateway.post(other, { ...connection, "acp-session-id": "b" })), 400);
    const first = await gateway.listen(connection);
    assert.equal(await status(gateway.listen(connection)), 409);
    await first.body?.cancel();
  });

  it("answers requests with ids that no number can represent, on the right stream", async () => {
    const id = "12345678901234567890";
    const hello = await gateway.post(JSON.stringify(HELLO).replace('"id":1', `"id":${id}`));
    assert.ok((await hello.text()).includes(`"id":${id}`));
    const connection = { "acp-connection-id": hello.headers.get("acp-connection-id") ?? "" };
    const close = `{"jsonrpc":"2.0","id":${id},"method":"session/close","params":{"sessionId":"a"}}`;
    await gateway.post(close, connection);
    const stream = await gateway.listen({ ...connection, "acp-session-id": "a" });
    const events = stream.body?.getReader();
    const { value } = (await events?.read()) ?? {};
    assert.match(new TextDecoder().decode(value), new RegExp(`"id":${id},"error"`));
    await events?.cancel();
    const long = { ...HELLO, id: "x".repeat(600) };
    assert.equal((await gateway.post(long)).status, 400);
  });

  it("reads slowly if every message is wrong", async () => {
    const connection = await gateway.connect();
    const wrong = { jsonrpc: "2.0", id: 2, method: "nothing/at_all", params: {} };
    const started = performance.now();
    for (let at = 0; at < 102; at++) {
      assert.equal((await gateway.post({ ...wrong, id: at }, connection)).status, 202);
    }
    // A hundred in a second: the last one was not read before the second of the first was over.
    assert.ok(performance.now() - started >= 900, `${performance.now() - started} ms`);
  });

  it("gives every WebSocket its own id with the handshake", async () => {
    const ids = new Set<unknown>();
    for (let at = 0; at < 2; at++) {
      const socket = new WebSocket(gateway.url.replace("http", "ws"), { headers: gateway.owner });
      const [[response]] = (await Promise.all([once(socket, "upgrade"), once(socket, "open")])) as [
        [IncomingMessage],
        unknown,
      ];
      ids.add(response.headers["acp-connection-id"]);
      socket.send(JSON.stringify(HELLO));
      const [data, isBinary] = (await once(socket, "message")) as [Buffer, boolean];
      assert.equal(isBinary, false);
      assert.equal((JSON.parse(data.toString()) as { id: number }).id, 1);
      socket.close();
      await once(socket, "close");
    }
    assert.equal(ids.size, 2);
    for (const id of ids) assert.match(String(id), /^[0-9a-f-]{36}$/);
  });

  it("separates connections and sessions by their tokens", async () => {
    using home = new GuardedHome({
      agents: { other: { command: process.execPath, args: [AGENT] } },
    });
    const ann = bearer(await home.createToken("ann", "--scope", "sessions"));
    const bob = bearer(await home.createToken("bob", "--scope", "sessions"));
    await using gateway = await home.serve();
    const hello = await gateway.post(HELLO, ann, "/acp");
    const connection = { "acp-connection-id": String(hello.headers["acp-connection-id"]) };
    const list = { jsonrpc: "2.0", id: 2, method: "session/list", params: {} };
    assert.equal((await gateway.post(list, { ...ann, ...connection }, "/acp")).status, 202);
    for (const headers of [bob, gateway.owner]) {
      const foreign = { ...headers, ...connection, accept: "text/event-stream" };
      assert.equal((await gateway.post(list, foreign, "/acp")).status, 404);
      assert.equal((await gateway.get("/acp", foreign)).status, 404);
      assert.equal((await gateway.send("DELETE", "/acp", foreign)).status, 404);
    }
    const ask = async (headers: object, method: string, params: object): Promise<Answer> => {
      const socket = new WebSocket(gateway.acp, { headers: { ...headers } });
      await once(socket, "open");
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
      const [data] = (await once(socket, "message")) as [Buffer];
      socket.close();
      await once(socket, "close");
      return JSON.parse(data.toString()) as Answer;
    };
    const { result } = await ask(ann, "session/new", { cwd: home.path });
    const old = { sessionId: result?.sessionId, cwd: home.path };
    assert.equal((await ask(bob, "session/resume", old)).error?.code, -31900);
    assert.equal((await ask(ann, "session/resume", old)).error, undefined);
    // Everything is the owner's.
    assert.equal((await ask(gateway.owner, "session/resume", old)).error, undefined);
  });
});

interface Answer {
  readonly result?: { readonly sessionId: string };
  readonly error?: { readonly code: number };
}
