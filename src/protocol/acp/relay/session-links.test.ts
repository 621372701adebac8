import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Json } from "../../../../test/support/acp-house.ts";
import { RecordingSink } from "../../../../test/support/recording-sink.ts";
import { ScriptedHolder } from "../../../../test/support/scripted-holder.ts";
import { background } from "../../../base/background.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { OWNER } from "../../../base/principal.ts";
import { SessionError } from "../../../session/session-error.ts";
import type { EndOfTurn } from "../../../session/turn/end-of-prompt.ts";
import { type Channel, ROOM, type Sink } from "../../../wire/channel.ts";
import { memoryPair } from "../../../wire/channel/memory.ts";
import { LazyLinks } from "./lazy-links.ts";
import type { LinkedClient } from "./session-links.ts";

/** A client, and its connection to this process. */
class Rig implements AsyncDisposable {
  /** The messages to the client. */
  readonly client = new RecordingSink();
  /** The messages that this process serves. */
  readonly here = new RecordingSink();
  readonly taken: { readonly sessionId: string; readonly after: number }[] = [];
  /** What the client was told to resume. */
  readonly lagged: { readonly sessionId: string; readonly after: number }[] = [];
  readonly links: LazyLinks;
  readonly #write: Channel<string>;
  readonly holders = new Map<string, ScriptedHolder>();
  end: EndOfTurn | undefined;
  /** How a turn ended cannot be read. */
  endFails = false;
  /** The process that already has the session open when this one wants to take it over. */
  holder: string | undefined;
  countsEvents = false;
  /** Resolves when this process can open the session. */
  opening = async (): Promise<void> => {};
  #sink: Sink<string> | undefined;

  constructor() {
    const [client, server] = memoryPair();
    this.#write = client;
    client.receive(this.client);
    const linked: LinkedClient = {
      principal: OWNER,
      introduction: { protocolVersion: 1, _meta: { other: 1 } },
      origin: "o1",
      countsEvents: false,
      takeOver: async ({ sessionId }, after) => {
        await this.opening();
        if (this.holder !== undefined) throw heldBy(this.holder);
        this.taken.push({ sessionId, after });
      },
      lagged: (sessionId, after) => this.lagged.push({ sessionId, after }),
      endOf: async () => {
        if (this.endFails) throw new TrunklineError("unavailable", "NATS does not answer.");
        return this.end;
      },
    };
    const counts = () => this.countsEvents;
    Object.defineProperty(linked, "countsEvents", { get: counts });
    this.links = new LazyLinks({
      reach: async (holder) => {
        const found = this.holders.get(holder);
        if (found === undefined) throw new TrunklineError("unavailable", "Nobody is there.");
        return found.joining;
      },
      client: linked,
      send: (text) => server.send(text),
    });
    const receive = server.receive.bind(server);
    server.receive = (sink) => receive((this.#sink = sink));
    this.links.through(server).receive(this.here);
  }

  holding(name: string, answers?: Readonly<Record<string, unknown>>): ScriptedHolder {
    const process = new ScriptedHolder(answers);
    this.holders.set(name, process);
    return process;
  }

  async join(holder: string): Promise<unknown> {
    const params = { sessionId: "s1", cwd: "/w", mcpServers: [] };
    return await this.links.request(holder, "session/load", params);
  }

  say(message: object): void {
    background(this.#write.send(JSON.stringify({ jsonrpc: "2.0", ...message })), "Saying");
  }

  /** Delivers a message at once; returns what the channel is asked to wait for. */
  take(message: object): unknown {
    return this.#sink?.message(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  /** Waits for a matching message to the client. */
  async sent(matches: (message: Json) => boolean): Promise<Json> {
    const isIt = (text: string): boolean => matches(JSON.parse(text));
    await this.client.until(({ messages }) => messages.some(isIt));
    return JSON.parse(this.client.messages.find(isIt) ?? "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.links.close();
    await this.#write[Symbol.asyncDispose]();
  }
}

function heldBy(holder: string): SessionError {
  const cause = Object.assign(new TrunklineError("conflict", "held"), { holder });
  return new SessionError("session-locked", "held", {}, { cause });
}

const LOADED = { "session/load": { _meta: { trunkline: { seq: 7 } } } };

describe("SessionLinks", { timeout: 20_000 }, () => {
  it("initializes the holder as the client did, and forwards the answer", async () => {
    await using rig = new Rig();
    const holder = rig.holding("h", LOADED);
    assert.deepEqual(await rig.join("h"), LOADED["session/load"]);
    const { params } = await holder.heard("initialize");
    assert.deepEqual(params, {
      protocolVersion: 1,
      _meta: { other: 1, trunkline: { sequence: true, origin: "o1" } },
    });
  });

  it("forwards messages about the session, and serves others here", async () => {
    await using rig = new Rig();
    const holder = rig.holding("h", { ...LOADED, "session/prompt": { stopReason: "end_turn" } });
    await rig.join("h");
    rig.say({ id: 5, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    assert.deepEqual((await rig.sent(({ id }) => id === 5))["result"], { stopReason: "end_turn" });
    rig.say({ id: 6, method: "session/list", params: {} });
    rig.say({ id: 7, method: "session/prompt", params: { sessionId: "s2", prompt: [] } });
    rig.say({ id: 8, method: "session/fork", params: { sessionId: "s1" } });
    await rig.here.until(({ messages }) => messages.length === 3);
    assert.equal(holder.sink.messages.filter((text) => text.includes("session/")).length, 2);
  });

  it("hides the numbers of events from a client that has not asked for them", async () => {
    await using rig = new Rig();
    const holder = rig.holding("h", LOADED);
    await rig.join("h");
    holder.update("one", 8);
    const { params } = await rig.sent(({ method }) => method === "session/update");
    assert.deepEqual(params, { sessionId: "s1", update: { text: "one" } });
    rig.countsEvents = true;
    holder.update("two", 9);
    const counted = await rig.sent(({ params: { update } }) => update.text === "two");
    assert.deepEqual(counted["params"]._meta, { trunkline: { seq: 9 } });
  });

  it("gives the requests of two holders different ids, and each its own answer", async () => {
    await using rig = new Rig();
    const [one, two] = [rig.holding("one", LOADED), rig.holding("two", LOADED)];
    await rig.join("one");
    await rig.links.request("two", "session/load", { sessionId: "s2", cwd: "/w", mcpServers: [] });
    one.say({ id: 1, method: "session/request_permission", params: { sessionId: "s1" } });
    two.say({ id: 1, method: "session/request_permission", params: { sessionId: "s2" } });
    const { id: first } = await rig.sent((it) => it["params"]?.sessionId === "s1");
    const { id: second } = await rig.sent((it) => it["params"]?.sessionId === "s2");
    assert.notEqual(first, second);
    rig.say({ id: second, result: { outcome: "two" } });
    rig.say({ id: first, result: { outcome: "one" } });
    for (const [holder, outcome] of [
      [one, "one"],
      [two, "two"],
    ] as const) {
      await holder.sink.until(({ messages }) => messages.some((text) => text.includes("outcome")));
      const answer = JSON.parse(holder.sink.messages.at(-1) ?? "");
      assert.deepEqual(answer, { jsonrpc: "2.0", id: 1, result: { outcome } });
    }
  });

  it("cancels requests of both sides under the right ids", async () => {
    await using rig = new Rig();
    const holder = rig.holding("h", LOADED);
    await rig.join("h");
    holder.say({ id: 4, method: "session/request_permission", params: { sessionId: "s1" } });
    const { id } = await rig.sent(({ method }) => method === "session/request_permission");
    holder.say({ method: "$/cancel_request", params: { requestId: 4 } });
    await rig.sent((it) => it["method"] === "$/cancel_request" && it["params"].requestId === id);
    rig.say({ id: "p", method: "session/prompt", params: { sessionId: "s1" } });
    rig.say({ method: "$/cancel_request", params: { requestId: "p" } });
    assert.deepEqual((await holder.heard("$/cancel_request"))["params"], { requestId: "p" });
    rig.say({ method: "$/cancel_request", params: { requestId: "of nobody" } });
    await rig.here.until(({ messages }) => messages.length === 1);
  });

  it("takes the session over after the last shown event, and answers the prompt as its turn ended", async () => {
    await using rig = new Rig();
    const holder = rig.holding("h", LOADED);
    await rig.join("h");
    holder.update("one", 12);
    await rig.sent(({ method }) => method === "session/update");
    rig.end = { stopReason: "max_tokens" };
    rig.say({ id: 3, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    rig.say({ id: 4, method: "session/set_mode", params: { sessionId: "s1", modeId: "x" } });
    await holder.heard("session/set_mode");
    holder.say({ id: 9, method: "session/request_permission", params: { sessionId: "s1" } });
    const { id } = await rig.sent(({ method }) => method === "session/request_permission");
    await holder.die();
    assert.deepEqual((await rig.sent((it) => it["id"] === 3))["result"], rig.end);
    assert.deepEqual(rig.taken, [{ sessionId: "s1", after: 12 }]);
    await rig.sent((it) => it["method"] === "$/cancel_request" && it["params"].requestId === id);
    // Other requests are sent again here, and so is everything after them.
    await rig.here.until(({ messages }) => messages.length === 1);
    rig.say({ id: 5, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    await rig.here.until(({ messages }) => messages.length === 2);
    assert.match(rig.here.messages[0] ?? "", /set_mode/);
  });

  it("takes over a session and its fork, also after a fork that failed", async () => {
    await using rig = new Rig();
    const holder = rig.holding("h", LOADED);
    await rig.join("h");
    const params = { sessionId: "s1", cwd: "/w", mcpServers: [] };
    const no = { code: -32603, message: "No" };
    for (const answer of [{ error: no }, { result: { sessionId: "f1" } }]) {
      const forked = rig.links.request("h", "session/fork", params).catch(() => {});
      const { id } = await holder.heard("session/fork");
      holder.sink.messages.length = 0;
      holder.say({ id, ...answer });
      await forked;
    }
    await holder.die();
    rig.say({ id: 1, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    rig.say({ id: 2, method: "session/prompt", params: { sessionId: "f1", prompt: [] } });
    await rig.here.until(({ messages }) => messages.length === 2);
    assert.deepEqual(rig.taken.map(({ sessionId }) => sessionId).toSorted(), ["f1", "s1"]);
  });

  it("reports an interrupted turn, and sends a prompt again whose turn never began", async () => {
    await using rig = new Rig();
    for (const end of [{ stopReason: "interrupted" } as const, undefined]) {
      const holder = rig.holding("h", LOADED);
      await rig.join("h");
      rig.end = end;
      const id = end === undefined ? 2 : 1;
      rig.say({ id, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
      await holder.heard("session/prompt");
      await holder.die();
      if (end === undefined) await rig.here.until(({ messages }) => messages.length === 1);
      else {
        const { error } = await rig.sent((it) => it["id"] === id);
        assert.deepEqual(error.data, { interrupted: true });
      }
    }
  });

  it("follows the session to another process that was faster", async () => {
    await using rig = new Rig();
    const holder = rig.holding("h", LOADED);
    const next = rig.holding("next", { "session/resume": {}, "session/prompt": { ok: true } });
    await rig.join("h");
    rig.holder = "next";
    await holder.die();
    const { params } = await next.heard("session/resume");
    assert.deepEqual(params._meta, { trunkline: { after: 7 } });
    rig.say({ id: 1, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    assert.deepEqual((await rig.sent(({ id }) => id === 1))["result"], { ok: true });
  });

  it("tells the process that has the session open then that it may know the prompt, over and over", async () => {
    await using rig = new Rig();
    const holder = rig.holding("h", LOADED);
    const second = rig.holding("second", { "session/resume": {} });
    const third = rig.holding("third", { "session/resume": {}, "session/prompt": { ok: true } });
    await rig.join("h");
    rig.say({ id: 1, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    await holder.heard("session/prompt");
    rig.holder = "second";
    await holder.die();
    const again = await second.heard("session/prompt");
    assert.deepEqual(again["params"], {
      sessionId: "s1",
      prompt: [],
      _meta: { trunkline: { sentAfter: 7 } },
    });
    second.update("later", 20);
    await rig.sent(({ method }) => method === "session/update");
    rig.holder = "third";
    await second.die();
    const { params } = await third.heard("session/prompt");
    assert.equal(params._meta.trunkline.sentAfter, 7);
    assert.deepEqual((await rig.sent(({ id }) => id === 1))["result"], { ok: true });
  });

  it("resumes once at the third process if the second ends before it answers", async () => {
    await using rig = new Rig();
    const holder = rig.holding("h", LOADED);
    const second = rig.holding("second");
    const third = rig.holding("third", { "session/resume": {}, "session/prompt": { ok: true } });
    await rig.join("h");
    rig.holder = "second";
    await holder.die();
    await second.heard("session/resume");
    rig.holder = "third";
    await second.die();
    await third.heard("session/resume");
    rig.say({ id: 1, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    await rig.sent(({ id }) => id === 1);
    const resumes = third.sink.messages.filter((text) => text.includes("session/resume"));
    assert.equal(resumes.length, 1);
  });

  it("sends no prompt to the next process before that has opened the session", async () => {
    await using rig = new Rig();
    const first = rig.holding("h", LOADED);
    const second = rig.holding("next", { "session/prompt": { stopReason: "end_turn" } });
    await rig.join("h");
    rig.holder = "next";
    await first.die();
    const { id } = await second.heard("session/resume");
    rig.take({ id: 5, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    // What it is asked later comes after the prompt, if that was sent.
    const asked = rig.links.request("next", "session/list", {} as never).catch(() => {});
    await second.heard("session/list");
    assert.ok(!second.sink.messages.some((text) => text.includes("session/prompt")));
    second.say({ id, result: {} });
    await rig.sent((message) => message.id === 5 && message.result.stopReason === "end_turn");
    await second.die();
    await asked;
  });

  it("lets a client wait that sends much while the session is being taken over", async () => {
    await using rig = new Rig();
    const holder = rig.holding("h", LOADED);
    await rig.join("h");
    const [begun, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    rig.opening = () => (begun.resolve(), opened.promise);
    await holder.die();
    await begun.promise;
    const prompt = (text: string) => ({
      method: "session/prompt",
      params: { sessionId: "s1", text },
    });
    assert.equal(rig.take({ id: 1, ...prompt("little") }), ROOM);
    const room = rig.take({ id: 2, ...prompt("much".repeat(300_000)) });
    assert.notEqual(room, ROOM);
    assert.equal(rig.here.messages.length, 0);
    opened.resolve();
    await room;
    const ids = rig.here.messages.map((text): unknown => JSON.parse(text).id);
    assert.deepEqual(ids, [1, 2]);
  });

  it("tells a client after which event to resume a session that cannot be opened again", async () => {
    await using rig = new Rig();
    const holder = rig.holding("h", LOADED);
    // Another process has the session, and refuses to show it.
    const next = rig.holding("next");
    await rig.join("h");
    holder.update("shown", 9);
    await rig.sent(({ method }) => method === "session/update");
    rig.say({ id: 1, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    await holder.heard("session/prompt");
    rig.holder = "next";
    await holder.die();
    const { id } = await next.heard("session/resume");
    assert.deepEqual(rig.lagged, []);
    next.say({ id, error: { code: -31902, message: "Session locked" } });
    const { error } = await rig.sent((message) => message["id"] === 1);
    assert.match(error.message, /locked/);
    assert.deepEqual(rig.lagged, [{ sessionId: "s1", after: 9 }]);
  });

  it("answers a prompt also if it cannot be known how its turn ended", async () => {
    await using rig = new Rig();
    const holder = rig.holding("h", LOADED);
    await rig.join("h");
    rig.endFails = true;
    rig.say({ id: 1, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    await holder.heard("session/prompt");
    await holder.die();
    const { error } = await rig.sent(({ id }) => id === 1);
    assert.match(error.message, /NATS does not answer/);
  });

  it("disconnects from a holder when its last session is closed", async () => {
    await using rig = new Rig();
    const holder = rig.holding("h", { ...LOADED, "session/close": {} });
    await rig.join("h");
    rig.say({ id: 1, method: "session/close", params: { sessionId: "s1" } });
    await rig.sent(({ id }) => id === 1);
    await holder.sink.until(({ ends }) => ends.length > 0);
    rig.say({ id: 2, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    await rig.here.until(({ messages }) => messages.length === 1);
  });

  it("rejects if the holder cannot be reached, or ends before it answers", async () => {
    await using rig = new Rig();
    await assert.rejects(rig.join("nobody"), { code: "unavailable" });
    const holder = rig.holding("h");
    const joining = rig.join("h");
    await holder.heard("session/load");
    await Promise.all([holder.die(), assert.rejects(joining, { code: "unavailable" })]);
    assert.deepEqual(rig.taken, []);
  });
});
