import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import type { Json } from "../../../../test/support/acp-house.ts";
import { BEAT, LinksRig } from "../../../../test/support/links-rig.ts";
import { until } from "../../../../test/support/until.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { ROOM } from "../../../wire/channel.ts";

const LOADED = { "session/load": { _meta: { trunkline: { seq: 7 } } } };

describe("SessionLinks", { timeout: 600_000 }, () => {
  it("initializes the holder as the client did, and forwards the answer", async () => {
    await using rig = new LinksRig();
    const holder = rig.holding("h", LOADED);
    assert.deepEqual(await rig.join("h"), LOADED["session/load"]);
    const { params } = await holder.heard("initialize");
    assert.deepEqual(params, {
      protocolVersion: 1,
      _meta: { other: 1, trunkline: { sequence: true, origin: "o1" } },
    });
  });

  it("forwards messages about the session, and serves others here", async () => {
    await using rig = new LinksRig();
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
    await using rig = new LinksRig();
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
    await using rig = new LinksRig();
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
    await using rig = new LinksRig();
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
    await using rig = new LinksRig();
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
    await using rig = new LinksRig();
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
    await using rig = new LinksRig();
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
    await using rig = new LinksRig();
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
    await using rig = new LinksRig();
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
    await using rig = new LinksRig();
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
    await using rig = new LinksRig();
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

  it("cancels requests that wait until the session is open again, after they were sent", async () => {
    await using rig = new LinksRig();
    const first = rig.holding("h", LOADED);
    const second = rig.holding("next");
    await rig.join("h");
    rig.say({ id: 4, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    await first.heard("session/prompt");
    rig.holder = "next";
    await first.die();
    const { id } = await second.heard("session/resume");
    rig.take({ id: 5, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    for (const requestId of [5, 4]) rig.take({ method: "$/cancel_request", params: { requestId } });
    second.say({ id, result: {} });
    // Whether the process still answers may have been asked, too.
    const heard = (): Json[] =>
      second.sink.messages
        .map((text): Json => JSON.parse(text))
        .filter(({ method }) => ["session/prompt", "$/cancel_request"].includes(method));
    await second.sink.until(() => heard().length === 4);
    assert.deepEqual(
      heard().map((message) => message.id ?? message.params.requestId),
      [4, 5, 5, 4],
    );
  });

  it("lets a client wait that sends much while the session is being taken over", async () => {
    await using rig = new LinksRig();
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

  it("tries again with the next message of a client whose session cannot be opened again", async () => {
    await using rig = new LinksRig();
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
    next.say({ id, error: { code: -31902, message: "Session locked" } });
    const { error } = await rig.sent((message) => message["id"] === 1);
    assert.match(error.message, /locked/);
    rig.holder = undefined;
    rig.say({ id: 2, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    await rig.here.until(({ messages }) => messages.length === 1);
    assert.deepEqual(rig.taken, [{ sessionId: "s1", after: 9 }]);
  });

  it("deposes a holder that is stopped, and answers what it was asked", async () => {
    await using rig = new LinksRig();
    const holder = rig.holding("h", LOADED);
    await rig.join("h");
    holder.update("shown", 9);
    await rig.sent(({ method }) => method === "session/update");
    holder.isStopped = true;
    rig.stopped.add("h");
    rig.holder = "h";
    rig.say({ id: 1, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    await rig.here.until(({ messages }) => messages.length === 1);
    assert.deepEqual(rig.deposed, ["h"]);
    assert.deepEqual(rig.taken, [{ sessionId: "s1", after: 9 }]);
  });

  it("says so if a holder does not answer and cannot be deposed", async () => {
    await using rig = new LinksRig();
    const holder = rig.holding("h", LOADED);
    await rig.join("h");
    holder.isStopped = true;
    rig.holder = "h";
    rig.undeposable = new TrunklineError("conflict", "It is in another container.");
    rig.say({ id: 1, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    // Nobody knows whether it is stopped, so it is given up later.
    const { error } = await rig.sent(({ id }) => id === 1);
    assert.match(error.message, /another container/);
  });

  it("deposes a holder that is stopped before it has answered at all", async () => {
    await using rig = new LinksRig();
    const holder = rig.holding("h");
    holder.isStopped = true;
    rig.stopped.add("h");
    await assert.rejects(rig.join("h"), { code: "unavailable", isSilent: true });
  });

  it("does not give up a holder whose messages wait because the client reads slowly", async () => {
    await using rig = new LinksRig();
    const holder = rig.holding("h", LOADED);
    await rig.join("h");
    rig.say({ id: 1, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    const reads = Promise.withResolvers<void>();
    rig.client.hold = reads.promise;
    for (let at = 1; at < 5; at++) holder.update("x".repeat(1_000_000), at);
    rig.stopped.add("h");
    await delay(20 * BEAT);
    rig.client.hold = undefined;
    reads.resolve();
    await rig.client.until(({ messages }) => messages.length === 4);
    assert.deepEqual(rig.deposed, []);
    assert.deepEqual(rig.taken, []);
  });

  it("ends at once if the client leaves while a holder does not answer", async () => {
    const rig = new LinksRig();
    const holder = rig.holding("h");
    holder.isStopped = true;
    const joining = assert.rejects(rig.join("h"), { code: "unavailable" });
    await until(() => holder.pings > 0);
    await rig[Symbol.asyncDispose]();
    await joining;
  });

  it("answers a prompt also if it cannot be known how its turn ended", async () => {
    await using rig = new LinksRig();
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
    await using rig = new LinksRig();
    const holder = rig.holding("h", { ...LOADED, "session/close": {} });
    await rig.join("h");
    rig.say({ id: 1, method: "session/close", params: { sessionId: "s1" } });
    await rig.sent(({ id }) => id === 1);
    await holder.sink.until(({ ends }) => ends.length > 0);
    rig.say({ id: 2, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
    await rig.here.until(({ messages }) => messages.length === 1);
  });

  it("rejects if the holder cannot be reached, or ends before it answers", async () => {
    await using rig = new LinksRig();
    await assert.rejects(rig.join("nobody"), { code: "unavailable" });
    const holder = rig.holding("h");
    const joining = rig.join("h");
    await holder.heard("session/load");
    await Promise.all([holder.die(), assert.rejects(joining, { code: "unavailable" })]);
    assert.deepEqual(rig.taken, []);
  });
});
