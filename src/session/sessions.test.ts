import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { AcpApp, type Json, type TestClient } from "../../test/support/acp-app.ts";
import { DiskFaults } from "../../test/support/disk-faults.ts";
import { chunk, promptText } from "../../test/support/scripted-agent.ts";
import { TrunklineError } from "../base/errors.ts";
import { Log } from "../base/log.ts";
import type { Principal } from "../base/principal.ts";
import { readPage, SessionRoom, UnstartedSessions } from "./sessions.ts";
import type { Session } from "./session.ts";
import type { SessionRecord, SessionStore } from "./store.ts";

const ANY = { cwd: undefined, cursor: undefined, owner: undefined };

/** So many sessions, and what was asked for. */
function storeOf(count: number) {
  const asked: unknown[] = [];
  const record = (at: number) => ({ id: crypto.randomUUID(), updated: 1000 - at });
  const all = Array.from({ length: count }, (_, at) => record(at) as SessionRecord);
  const list: SessionStore["list"] = async (options) => {
    asked.push(options);
    return all.slice(0, options?.limit);
  };
  return { list, all, asked };
}

describe("readPage()", () => {
  it("names the last session of a page where more follow", async () => {
    const store = storeOf(101);
    const { sessions, nextCursor } = await readPage(store, ANY);
    assert.equal(sessions.length, 100);
    assert.equal(nextCursor, `901.${store.all[99]?.id}`);
    await readPage(store, { cwd: "/w", cursor: nextCursor, owner: "" });
    const after = { updated: 901, id: store.all[99]?.id };
    assert.deepEqual(store.asked.at(-1), { limit: 101, after, cwd: "/w", owner: "" });
  });

  it("has no cursor on the last page", async () => {
    assert.equal((await readPage(storeOf(100), ANY)).nextCursor, undefined);
    assert.deepEqual(await readPage(storeOf(0), ANY), { sessions: [] });
  });

  it("refuses what is not a cursor of the list", async () => {
    for (const cursor of ["", "5", "x.y", `-1.${crypto.randomUUID()}`]) {
      await assert.rejects(readPage(storeOf(1), { ...ANY, cursor }), { code: "usage" });
    }
  });
});

describe("UnstartedSessions", () => {
  it("tries again to delete what could not be deleted", async () => {
    let isBroken = true;
    const deleted: string[] = [];
    const store = {
      delete: async (id: string) => {
        if (isBroken) throw new Error("the disk is full");
        deleted.push(id);
      },
    } as SessionStore;
    const unstarted = new UnstartedSessions(store, new Log("error", () => {}));
    await unstarted.delete("a", async () => {});
    assert.deepEqual([...unstarted.ids], ["a"]);
    isBroken = false;
    await unstarted.delete("b", async () => {});
    assert.deepEqual([[...unstarted.ids], deleted], [[], ["a", "b"]]);
  });

  it("keeps the record until everything else of a session is removed, and does not wait for it", async () => {
    const deleted: string[] = [];
    const store = { delete: async (id: string) => void deleted.push(id) } as SessionStore;
    const unstarted = new UnstartedSessions(store, new Log("error", () => {}));
    let isBusy = true;
    await unstarted.delete("a", async () => {
      if (isBusy) throw new Error("its workspace is busy");
    });
    await unstarted.delete("b", async () => {});
    assert.deepEqual([unstarted.ids, unstarted.has("a"), deleted], [["a"], true, ["b"]]);
    isBusy = false;
    await unstarted.deleteAll();
    assert.deepEqual([unstarted.ids, deleted], [[], ["b", "a"]]);
  });
});

const GUEST: Principal = { id: "token guest", name: "guest" };

/** Places of which two may be taken. The sessions are stand-ins: only how idle they are counts. */
function room(open: Record<string, number>) {
  const sessions = new Map<string, Session>();
  for (const [id, idleFor] of Object.entries(open)) sessions.set(id, { id, idleFor } as Session);
  const put: string[] = [];
  return {
    put,
    sessions,
    room: new SessionRoom({
      limitOf: () => 2,
      openOf: async () => [...sessions.keys()],
      open: sessions,
      putAway: async ({ id }) => {
        put.push(id);
        sessions.delete(id);
      },
    }),
  };
}

describe("SessionRoom", () => {
  it("puts the idlest session away for a new one, and none that somebody uses", async () => {
    const idle = room({ a: 5_000, b: 90_000 });
    await idle.room.take(GUEST, async () => {});
    assert.deepEqual(idle.put, ["b"]);
    const used = room({ a: 0, b: 10 });
    await assert.rejects(
      used.room.take(GUEST, async () => {}),
      {
        code: "limit",
        message: /2 sessions are open, and 2 may be\. Close one; `sessions\.concurrent` raises/,
      },
    );
  });

  it("gives the last place to one of two that ask at the same time", async () => {
    const { room: places, sessions } = room({ a: 0 });
    const take = (id: string) =>
      places.take(GUEST, async () => void sessions.set(id, { id, idleFor: 0 } as Session));
    const taken = await Promise.allSettled([take("b"), take("c")]);
    assert.deepEqual(
      taken.map(({ status }) => status),
      ["fulfilled", "rejected"],
    );
  });
});

describe("sessions of a token that may have two", { timeout: 60_000 }, () => {
  const budgets = { concurrent: 5 };
  const token: Principal = { ...GUEST, scopes: ["sessions"], limits: { concurrent: 2 } };
  const opening = { cwd: "/tmp", mcpServers: [] };

  async function connect(app: AcpApp, principal = token): Promise<TestClient> {
    const client = app.connect({}, principal);
    await client.initialize();
    return client;
  }

  it("are refused beyond that, new or loaded, until one is closed", async () => {
    await using app = await AcpApp.open({ budgets });
    const client = await connect(app);
    const { sessionId: first } = await client.ask("session/new", opening);
    await client.ask("session/new", opening);
    const refused = /2 sessions are open, and 2 may be.*access token \(--concurrent\)/;
    await assert.rejects(client.ask("session/new", opening), refused);
    // Another token has places of its own.
    await (await connect(app, { ...token, id: "token other" })).ask("session/new", opening);
    await client.ask("session/close", { sessionId: first });
    const { sessionId: third } = await client.ask("session/new", opening);
    await assert.rejects(client.ask("session/load", { sessionId: first, ...opening }), refused);
    await client.ask("session/close", { sessionId: third });
    await client.ask("session/load", { sessionId: first, ...opening });
    assert.equal((await client.prompt(String(first), "hello")).stopReason, "end_turn");
  });
});

describe("Sessions", { timeout: 60_000 }, () => {
  it("can be forked with all events, and then develop separately", async () => {
    await using app = await AcpApp.open({
      script: (turn) => turn.update(chunk(promptText(turn))),
    });
    const { client, sessionId } = await app.client();
    await client.prompt(sessionId, "one");
    const { sessionId: forked } = await client.ask("session/fork", { sessionId, cwd: "/tmp" });
    await client.prompt(String(forked), "two");
    const reader = app.connect();
    await reader.initialize();
    await reader.ask("session/load", { sessionId: forked, cwd: "/tmp", mcpServers: [] });
    assert.equal(reader.text, "onetwo");
    const first = app.connect();
    await first.initialize();
    await first.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    assert.equal(first.text, "one");
  });

  it("keep chosen settings over a restart", async () => {
    await using app = await AcpApp.open();
    const { client, sessionId } = await app.client();
    await client.ask("session/set_mode", { sessionId, modeId: "architect" });
    await client.ask("session/set_model", { sessionId, modelId: "openai/gpt-4" });
    await app.stop();
    await app.start();
    const later = app.connect();
    await later.initialize();
    const loaded = await later.ask("session/load", { sessionId, cwd: "/tmp", mcpServers: [] });
    assert.equal(loaded.modes.currentModeId, "architect");
    assert.equal(loaded.models.currentModelId, "openai/gpt-4");
  });

  it("are left when another process has taken them over: the turn ends, and the prompt says so", async () => {
    const started = Promise.withResolvers<void>();
    await using app = await AcpApp.open({
      script: async (turn) => {
        started.resolve();
        await once(turn.signal, "abort");
      },
    });
    const { client, sessionId } = await app.client();
    const prompt = client.prompt(sessionId, "work");
    await started.promise;
    await app.sessions.abandon(sessionId);
    await assert.rejects(prompt, (error: Json) => {
      assert.match(error.data.details, /^Another Trunkline has taken session .* was interrupted/);
      return error.data.interrupted === true;
    });
    assert.equal(app.sessions.get(sessionId), undefined);
    await app.sessions.abandon(sessionId);
  });

  it("are not opened if another process takes them over while their agent starts", async () => {
    await using app = await AcpApp.open();
    const { client, sessionId } = await app.client();
    await client.prompt(sessionId, "one");
    await app.sessions.close(sessionId);
    const open = app.agent.open.bind(app.agent);
    const [asked, started] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    app.agent.open = async (options) => {
      asked.resolve();
      await started.promise;
      return await open(options);
    };
    const setup = { cwd: "/tmp", additionalDirectories: [], mcpServers: [] };
    const opening = app.sessions.open(sessionId, setup);
    await asked.promise;
    const left = app.sessions.abandon(sessionId);
    started.resolve();
    // Whoever waited for it must not get the state from before.
    await assert.rejects(opening, { code: "unavailable" });
    await left;
    assert.equal(app.sessions.get(sessionId), undefined);
    app.agent.open = open;
    assert.equal((await app.sessions.open(sessionId, setup)).id, sessionId);
  });

  it("show no old state to a client that has seen more elsewhere while nobody knows who has them", async () => {
    await using app = await AcpApp.open();
    const { client, sessionId } = await app.client();
    await client.prompt(sessionId, "one");
    const { last } = app.sessions.get(sessionId) ?? { last: 0 };
    assert.ok(last > 0);
    const confirm = async (_: string, isBehind: boolean): Promise<void> => {
      if (isBehind) throw new TrunklineError("unavailable", "NATS is away.");
    };
    Object.assign(app.log, { confirm });
    const later = app.connect();
    await later.initialize();
    const resume = (after: number): Promise<unknown> =>
      later.ask("session/resume", {
        ...{ sessionId, cwd: "/tmp", mcpServers: [] },
        _meta: { trunkline: { after } },
      });
    await assert.rejects(resume(last + 1), /NATS is away/);
    await resume(last);
  });

  it("ends an agent that starts while the program stops", async () => {
    await using app = await AcpApp.open();
    const { client } = await app.client();
    const open = app.agent.open.bind(app.agent);
    const [asked, started] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let ended = 0;
    app.agent.open = async (options) => {
      asked.resolve();
      await started.promise;
      const worker = await open(options);
      const end = worker[Symbol.asyncDispose].bind(worker);
      worker[Symbol.asyncDispose] = async () => {
        ended++;
        await end();
      };
      return worker;
    };
    client.ask("session/new", { cwd: "/tmp", mcpServers: [] }).catch(() => {});
    await asked.promise;
    const stopped = app.stop();
    started.resolve();
    await stopped;
    assert.equal(ended, 1);
    app.agent.open = open;
    await app.start();
  });

  it("starts no agent of a session that is still being read when the program stops", async () => {
    await using app = await AcpApp.open();
    const record = { id: crypto.randomUUID(), cwd: "/tmp", agent: app.agent.name };
    const { key } = await app.log.create({ ...record, notes: { turn: "t", turnAfter: 0 } });
    await app.log.release(key);
    const [asked, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const read = app.log.read.bind(app.log);
    app.log.read = async function* (...given) {
      asked.resolve();
      await goesOn.promise;
      yield* read(...given);
    };
    let started = 0;
    const open = app.agent.open.bind(app.agent);
    app.agent.open = (options) => {
      started++;
      return open(options);
    };
    const setup = { cwd: "/tmp", additionalDirectories: [], mcpServers: [] };
    const opened = assert.rejects(app.sessions.open(record.id, setup), /stop/);
    await asked.promise;
    const stopped = app.sessions[Symbol.asyncDispose]();
    goesOn.resolve();
    await Promise.all([stopped, opened]);
    assert.equal(started, 0);
  });

  it("leaves no session behind that could not be begun or forked, also when it cannot be removed", async () => {
    await using app = await AcpApp.open();
    using disk = new DiskFaults(app.folder.path);
    const { client, sessionId } = await app.client();
    const open = app.agent.open.bind(app.agent);
    app.agent.open = async () => {
      // What was begun cannot be removed at first.
      let failures = 0;
      disk.decide = ({ operation }) => {
        return operation === "BEGIN IMMEDIATE" && failures++ < 1 ? "ENOSPC" : undefined;
      };
      throw new TrunklineError("unavailable", "The agent does not start");
    };
    const place = { cwd: "/tmp", mcpServers: [] };
    await assert.rejects(client.ask("session/new", place), /does not start/);
    await assert.rejects(client.ask("session/fork", { sessionId, ...place }), /does not start/);
    app.agent.open = open;
    disk.decide = ({ operation }) => (operation === "BEGIN IMMEDIATE" ? "ENOSPC" : undefined);
    const seen = await client.ask("session/list", {});
    assert.equal((seen["sessions"] as unknown[]).length, 1);
    disk.decide = () => undefined;
    const { sessions } = await client.ask("session/list", {});
    assert.deepEqual(
      (sessions as { sessionId: string }[]).map((session) => session.sessionId),
      [sessionId],
    );
    await app.stop();
    await app.start();
    assert.equal((await app.log.list()).length, 1);
  });

  it("can be deleted on a full disk, where what is removed first makes room for the rest", async () => {
    await using app = await AcpApp.open();
    const { client, sessionId } = await app.client();
    await client.ask("session/close", { sessionId });
    using disk = new DiskFaults(app.folder.path);
    let failures = 0;
    disk.decide = ({ operation }) =>
      operation === "BEGIN IMMEDIATE" && failures++ < 1 ? "ENOSPC" : undefined;
    await client.ask("session/delete", { sessionId });
    assert.deepEqual(await app.log.list(), []);
    const place = { cwd: "/tmp", mcpServers: [] };
    const { sessionId: other } = await client.ask("session/new", place);
    await client.ask("session/close", { sessionId: other });
    disk.decide = ({ operation }) => (operation === "BEGIN IMMEDIATE" ? "ENOSPC" : undefined);
    const never = client.ask("session/delete", { sessionId: other });
    await assert.rejects(never, /disk is full\. Free some space/);
  });
});
