import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AcpApp, type Message, type TestClient } from "../../../test/support/acp-app.ts";
import { until } from "../../../test/support/until.ts";
import { ExternalAgent } from "../../agent/external-agent.ts";
import { KnownAgents } from "../../agent/known-agents.ts";
import { Log } from "../../base/log.ts";
import type { Principal } from "../../base/principal.ts";

const AGENT = join(import.meta.dirname, "../../../test/support/acp-agent.mjs");
const PROGRAM = { command: process.execPath, args: [AGENT, "--login"] };
const PLACE = { cwd: "/tmp", mcpServers: [] };
const PAGES = { elicitation: { url: {} } };
const LOGIN_COMMAND = ["/node", "/trunkline.js", "acp"];

/** An agent that wants a login, behind a door that knows it from its last start. */
class LoginApp implements AsyncDisposable {
  readonly agent: ExternalAgent;
  readonly #data = mkdtempSync(join(tmpdir(), "trunkline-known-"));
  readonly known = new KnownAgents(this.#data);
  app!: AcpApp;

  private constructor() {
    this.agent = new ExternalAgent({
      ...{ name: "other", ...PROGRAM },
      greeted: (hello) => this.known.keep("other", PROGRAM, hello),
      log: new Log("error", () => {}),
    });
  }

  static async open(loginCommand?: readonly string[]): Promise<LoginApp> {
    const it = new LoginApp();
    const known = () => {
      const hello = it.known.find("other", PROGRAM);
      return hello && { name: "other", hello };
    };
    it.app = await AcpApp.open({ agent: it.agent, isOdd: true, door: { known, loginCommand } });
    return it;
  }

  /** A client that has said hello, and the answer to that. */
  async connect(capabilities: object = {}, principal?: Principal): Promise<[TestClient, Message]> {
    const client = this.app.connect({}, principal);
    client.answer = () => ({ result: { action: "accept" } });
    return [client, await client.initialize(capabilities)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app[Symbol.asyncDispose]();
    await this.agent[Symbol.asyncDispose]();
    rmSync(this.#data, { recursive: true });
  }
}

const idsOf = (methods: readonly Message[]): unknown[] => methods.map(({ id }) => id);

describe("logging in to an agent", { timeout: 60_000 }, () => {
  it("is offered by -32000, and from then on by initialize, in the ways that the client can show", async () => {
    await using it = await LoginApp.open(LOGIN_COMMAND);
    const [client, hello] = await it.connect(PAGES);
    assert.deepEqual(hello.authMethods, [], "it was never started");
    const refusal = await client.answerTo(client.post("session/new", PLACE));
    assert.equal(refusal.error.code, -32000);
    assert.deepEqual(idsOf(refusal.error.data.authMethods), ["other:page"]);
    await until(() => it.known.find("other", PROGRAM) !== undefined);
    const everything = { auth: { terminal: true, _meta: { gateway: true } } };
    const [, later] = await it.connect({ ...everything, _meta: { "terminal-auth": true } });
    assert.deepEqual(idsOf(later.authMethods), ["other:page", "other:tty", "other:gateway"]);
    const { args, _meta } = later.authMethods[1];
    assert.deepEqual(args, ["--login", "other:tty"]);
    const [command, ...rest] = LOGIN_COMMAND;
    assert.deepEqual(_meta["terminal-auth"], { command, args: [...rest, ...args] });
    assert.deepEqual(later.agentCapabilities.providers, {});
    assert.equal(later.authMethods[0]._meta, undefined, "a command that the agent names");
    const another = { ...PROGRAM, args: [AGENT] };
    assert.equal(it.known.find("other", another), undefined, "of another program");
    const v2 = it.app.connect({}, undefined, 2);
    const params = { protocolVersion: 2, info: { name: "t", version: "2" }, capabilities: {} };
    const { authMethods } = await v2.ask("initialize", params);
    assert.deepEqual(authMethods, [{ methodId: "other:page", type: "agent", name: "A page" }]);
  });

  it("offers no terminal that is on another machine", async () => {
    await using it = await LoginApp.open();
    const [client] = await it.connect();
    await assert.rejects(client.ask("session/new", PLACE), { code: -32000 });
    await until(() => it.known.find("other", PROGRAM) !== undefined);
    const [, hello] = await it.connect({ auth: { terminal: true } });
    assert.deepEqual(idsOf(hello.authMethods), ["other:page"]);
  });

  it("shows the agent's page to who logs in, tells the status, and lets sessions begin", async () => {
    await using it = await LoginApp.open();
    const [client] = await it.connect(PAGES);
    assert.deepEqual(await client.ask("auth/status", {}), { state: "unauthenticated" });
    const id = client.post("authenticate", { methodId: "other:page" });
    const { params } = await client.request("elicitation/create");
    assert.deepEqual([params.requestId, params.url], [id, "https://login.example/"]);
    assert.deepEqual((await client.answerTo(id)).result, {});
    await client.request("elicitation/complete");
    await client.request("_auth/status_update");
    const { sessionId } = await client.ask("session/new", PLACE);
    await client.prompt(String(sessionId), "say hello");
    assert.equal(client.text, "hello");
    // Who joins later is told the status, too.
    const [other] = await it.connect();
    await other.ask("session/load", { sessionId, ...PLACE });
    assert.deepEqual((await other.request("_auth/status_update")).params, { status: "in" });
    await client.ask("logout", {});
    await assert.rejects(client.ask("session/new", PLACE), { code: -32000 });
    await assert.rejects(client.ask("authenticate", { methodId: "page" }), { code: -32602 });
  });

  it("is forgotten where a new process of the agent does not accept it any more", async () => {
    await using it = await LoginApp.open();
    const [client] = await it.connect(PAGES);
    await client.ask("authenticate", { methodId: "other:page", _meta: { secret: "x" } });
    const { sessionId } = await client.ask("session/new", PLACE);
    await client.prompt(String(sessionId), "crash").catch(() => {});
    // The new process cannot show its page to anybody: it says so, and a person logs in again.
    await assert.rejects(client.ask("session/new", PLACE), { code: -32000 });
    await client.ask("authenticate", { methodId: "other:page" });
    await client.ask("session/new", PLACE);
  });

  it("cancels the page where the client shows none", async () => {
    await using it = await LoginApp.open();
    const [client] = await it.connect();
    await assert.rejects(client.ask("authenticate", { methodId: "other:page" }), /Not logged in/);
  });

  it("ends when the client that wanted it is gone", async () => {
    await using it = await LoginApp.open();
    const [client] = await it.connect(PAGES);
    const [other] = await it.connect(PAGES);
    const waiting = async (): Promise<unknown> => (await other.ask("auth/status", {})).waiting;
    client.post("authenticate", { methodId: "other:browser" });
    await until(async () => (await waiting()) === 1);
    await client.leave();
    await until(async () => (await waiting()) === undefined);
  });

  it("is for the owner, and for tokens with the scope 'programs'", async () => {
    await using it = await LoginApp.open();
    const [client] = await it.connect(PAGES, { id: "token 1", scopes: ["sessions"] });
    const provider = { providerId: "main", apiType: "openai", baseUrl: "https://x.example" };
    for (const [method, params] of [
      ["authenticate", { methodId: "other:page" }],
      ["logout", {}],
      ["auth/status", {}],
      ["providers/list", {}],
      ["providers/set", provider],
      ["providers/disable", { providerId: "main" }],
      ["session/new", { ...PLACE, _meta: { trunkline: { providers: { other: [] } } } }],
    ] as const) {
      const { error } = await client.answerTo(client.post(method, params));
      assert.equal(error.code, -31701, method);
      assert.match(error.data.details, /needs the scope 'programs'/);
    }
    const [trusted] = await it.connect(PAGES, { id: "token 2", scopes: ["sessions", "programs"] });
    await trusted.ask("authenticate", { methodId: "other:page" });
  });
});

describe("the providers of an agent", { timeout: 60_000 }, () => {
  it("are those of the client that set them, and of no other", async () => {
    await using it = await LoginApp.open();
    const [one] = await it.connect(PAGES);
    const [other] = await it.connect(PAGES);
    const provider = { providerId: "main", apiType: "openai", baseUrl: "https://x.example" };
    await one.ask("providers/set", provider);
    assert.equal((await one.ask("providers/list", {})).providers[0].current.apiType, "openai");
    assert.deepEqual(await other.ask("providers/list", {}), { providers: [] });
    await assert.rejects(
      one.ask("providers/set", { ...provider, apiType: "odd" }),
      /Not supported/,
    );
    assert.equal((await one.ask("providers/list", {})).providers.length, 1);
    await other.ask("authenticate", { methodId: "other:gateway", _meta: { secret: "x" } });
    for (const [client, has] of [
      [one, "main"],
      [other, ""],
    ] as const) {
      const { sessionId } = await client.ask("session/new", PLACE);
      await client.prompt(String(sessionId), "providers");
      assert.equal(client.text, has);
    }
  });
});

describe("what clients say about a session", { timeout: 60_000 }, () => {
  it("is its title, which the agent does not replace, and its instructions", async () => {
    await using it = await LoginApp.open();
    const [client] = await it.connect(PAGES);
    await client.ask("authenticate", { methodId: "other:page" });
    const systemPrompt = { mode: "append", content: [{ type: "text", text: "Be brief" }] };
    const { sessionId } = await client.ask("session/new", { ...PLACE, systemPrompt });
    await client.prompt(String(sessionId), "system");
    assert.deepEqual(JSON.parse(client.text), systemPrompt);
    await client.ask("session/set_title", { sessionId, title: " Mine\u202e " });
    await client.prompt(String(sessionId), "title");
    const title = "Mine\\u202e";
    assert.ok(client.text.endsWith(title), client.text);
    const _meta = { branch: "b" };
    const update = { sessionUpdate: "session_info_update", title: "The agent's", _meta };
    const params = { sessionId: "SESSION", update };
    const line = JSON.stringify({ jsonrpc: "2.0", method: "session/update", params });
    await client.prompt(String(sessionId), `raw ${line}`);
    assert.equal((await client.ask("session/list", {})).sessions[0].title, title);
    assert.equal(client.updates.findLast((one) => one.title !== undefined)?.title, title);
    const { sessionUpdate } = update;
    assert.deepEqual(
      client.updates.findLast((one) => one.sessionUpdate === sessionUpdate),
      { sessionUpdate, _meta },
      "only the title is left out",
    );
    await assert.rejects(client.ask("session/set_title", { sessionId, title: " " }), {
      code: -32602,
    });
  });

  it("is whether it is listed; and they are told whether it is open", async () => {
    await using app = await AcpApp.open();
    const { client, sessionId } = await app.client();
    const listed = async (archived?: string): Promise<unknown[]> => {
      const { sessions } = await client.ask("session/list", archived ? { archived } : {});
      return sessions.map((one: Message) => one.archived);
    };
    assert.deepEqual(await client.ask("session/status", { sessionId }), { status: "open" });
    await client.ask("session/archive", { sessionId });
    await client.ask("session/archive", { sessionId });
    assert.deepEqual(await client.ask("session/status", { sessionId }), { status: "saved" });
    assert.deepEqual([await listed(), await listed("only")], [[], [true]]);
    await client.ask("session/unarchive", { sessionId });
    assert.deepEqual([await listed(), await listed("only")], [[false], []]);
    await client.ask("session/set_title", { sessionId, title: "Put away" });
    await client.ask("session/load", { sessionId, ...PLACE });
    assert.equal((await client.ask("session/list", {})).sessions[0].title, "Put away");
    // One that is opened while it is archived.
    await client.ask("session/archive", { sessionId });
    await client.ask("session/load", { sessionId, ...PLACE });
    assert.deepEqual(await listed("only"), [true]);
    await client.ask("session/unarchive", { sessionId });
    assert.deepEqual([await listed(), await listed("only")], [[false], []]);
    await assert.rejects(client.ask("providers/set", { providerId: "x", apiType: "openai" }), {
      code: -32602,
    });
    const systemPrompt = { mode: "append", content: [] };
    await assert.rejects(client.ask("session/new", { ...PLACE, systemPrompt }), /takes no system/);
    await assert.rejects(client.ask("session/status", { sessionId: crypto.randomUUID() }));
    await assert.rejects(client.ask("session/list", { archived: "odd" }), { code: -32602 });
  });
});
