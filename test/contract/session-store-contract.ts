import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { HeldSession, NewSession, SessionStore } from "../../src/session/store.ts";

/** A store of sessions, and a second process that shares its sessions. */
export interface SessionStoreRig extends AsyncDisposable {
  readonly store: SessionStore;
  /** The id under which the store holds sessions. */
  readonly holder: string;
  /** Opens a session in another process, until it is disposed of without a release. */
  holdElsewhere(id: string): Promise<AsyncDisposable & { readonly holder: string | undefined }>;
  /** The same sessions after all processes have ended and begun again. */
  reopen(): Promise<SessionStore>;
  /** Makes the store fail to store events until the returned function is called. */
  breakStorage(): Promise<() => Promise<void>>;
}

export interface SessionStoreKind {
  readonly name: string;
  readonly skip: string | false;
  readonly open: () => Promise<SessionStoreRig>;
}

const NEW: NewSession = { id: "s1", cwd: "/a", agent: "x", notes: { owner: "token ann" } };

/** What every store of sessions promises. */
export function sessionStoreContract({ name, skip, open }: SessionStoreKind): void {
  describe(`${name} as a store of sessions`, { skip }, () => {
    it("returns stored events in order, after a number, with their direction and time", async () => {
      await using rig = await open();
      const { store } = rig;
      const { key, last } = await store.create(NEW);
      assert.equal(last, 0);
      const appended = append(store, key, 300);
      assert.equal(appended.at(-1)?.last, 300);
      await Promise.all(appended.map(({ stored }) => stored));
      const events = (await Array.fromAsync(store.read("s1"))).flat();
      assert.deepEqual(numbers(events), range(1, 300));
      const [first] = events;
      assert.deepEqual([first?.direction, first?.message], ["client", { at: 1 }]);
      assert.ok(Math.abs(Date.now() - (first?.at ?? 0)) < 60_000);
      assert.deepEqual(numbers((await Array.fromAsync(store.read("s1", 298))).flat()), [299, 300]);
      assert.deepEqual((await Array.fromAsync(store.read("s1", 300))).flat(), []);
    });

    it("keeps records and events when all processes begin again", async () => {
      await using rig = await open();
      const { key } = await rig.store.create({ ...NEW, title: "One" });
      await settled(append(rig.store, key, 5));
      await rig.store.describe(key, { notes: { turn: "t1" }, updated: 77 });
      const store = await rig.reopen();
      const held = await store.hold("s1");
      assert.deepEqual([held.last, held.record.title, held.record.updated], [5, "One", 77]);
      assert.deepEqual(held.record.notes, { turn: "t1" });
      assert.equal(store.append(held.key, "agent", "{}").last, 6);
      await settled([store.append(held.key, "agent", "{}")]);
      assert.deepEqual(numbers((await Array.fromAsync(store.read("s1"))).flat()), range(1, 7));
    });

    it("stores large events and text of any language", async () => {
      await using rig = await open();
      const { key } = await rig.store.create(NEW);
      const large = { text: "é漢\u2028😀".repeat(200_000) };
      const events = [{ text: "a" }, large, { text: "\n" }];
      await settled(events.map((it) => rig.store.append(key, "agent", JSON.stringify(it))));
      const read = (await Array.fromAsync(rig.store.read("s1"))).flat();
      assert.deepEqual(
        read.map(({ message }) => message),
        events,
      );
    });

    it("refuses a session that exists, and does not find others", async () => {
      await using rig = await open();
      const { store } = rig;
      await store.create(NEW);
      await assert.rejects(store.create(NEW), { code: "conflict", message: /exists already/ });
      for (const id of ["s2", "", ">", "*", "s1.>", "a b", "x".repeat(5_000), "../s1", "é"]) {
        assert.equal(await store.find(id), undefined);
        await assert.rejects(store.hold(id), { code: "not-found" });
        await assert.rejects(Array.fromAsync(store.read(id)), { code: "not-found" });
      }
    });

    it("lets one process at a time hold a session, and says which", async () => {
      await using rig = await open();
      const { store } = rig;
      const { key } = await store.create(NEW);
      assert.equal((await store.hold("s1")).key, key);
      assert.deepEqual(await store.openOf("token ann"), ["s1"]);
      await store.release(key);
      assert.equal((await store.find("s1"))?.isHeld, false);
      assert.deepEqual(await store.openOf("token ann"), []);
      assert.match((await failed(store.append(key, "agent", "{}"))).message, /not open here/);
      {
        await using other = await rig.holdElsewhere("s1");
        const error = await store.hold("s1").then(
          () => assert.fail("It was held twice"),
          (thrown: { code: string; holder: string }) => thrown,
        );
        assert.equal(error.code, "conflict");
        assert.notEqual(error.holder, rig.holder);
        if (other.holder !== undefined) assert.equal(error.holder, other.holder);
        assert.equal((await store.find("s1"))?.isHeld, true);
        assert.deepEqual(await store.openOf("token ann"), ["s1"]);
      }
      // The other process was killed.
      const held = await store.hold("s1");
      assert.equal(held.record.isHeld || (await store.find("s1"))?.isHeld, true);
      assert.equal(store.append(held.key, "agent", "{}").last, 1);
    });

    it("changes what is described and keeps the rest", async () => {
      await using rig = await open();
      const { store } = rig;
      const { key } = await store.create(NEW);
      await store.describe(key, { title: "One" });
      await store.describe(key, { updated: 5 });
      await Promise.all([
        store.describe(key, { notes: { a: 1 } }),
        store.describe(key, { notes: { b: 2 } }),
      ]);
      const { title, updated, notes, cwd } = (await store.find("s1")) ?? {};
      assert.deepEqual([title, updated, notes, cwd], ["One", 5, { b: 2 }, "/a"]);
    });

    it("forks up to an event, also within a commit", async () => {
      await using rig = await open();
      const { store } = rig;
      const { key } = await store.create(NEW);
      await settled(append(store, key, 10));
      const forked = await store.fork("s1", { ...NEW, id: "s2", parent: "s1" }, 7);
      assert.deepEqual([forked.last, forked.record.parent], [7, "s1"]);
      assert.deepEqual((await store.find("s2"))?.isDeleted, false);
      assert.equal((await store.fork("s1", { ...NEW, id: "s3" })).last, 10);
      assert.equal((await store.fork("s1", { ...NEW, id: "s4" }, 0)).last, 0);
      const next = store.append(forked.key, "client", '{"at":"fork"}');
      assert.equal(next.last, 8);
      await next.stored;
      const messages = (await Array.fromAsync(store.read("s2")))
        .flat()
        .map(({ message }) => message);
      assert.deepEqual(messages, [...range(1, 7).map((at) => ({ at })), { at: "fork" }]);
      assert.equal((await Array.fromAsync(store.read("s1"))).flat().length, 10);
      await assert.rejects(store.fork("none", { ...NEW, id: "s5" }), { code: "not-found" });
      assert.equal(await store.find("s5"), undefined);
    });

    it("lists sessions by last use, in pages, of a folder and of an owner", async () => {
      await using rig = await open();
      const { store } = rig;
      const owners = ["token ann", "", "token ben"];
      for (let at = 0; at < 9; at++) {
        const owner = owners[at % 3];
        const notes = owner === "" ? {} : { owner };
        const id = `0000000${at}-0000-4000-8000-000000000000`;
        const { key } = await store.create({ id, cwd: at < 4 ? "/a" : "/b", agent: "x", notes });
        // Two sessions are used at the same time each.
        await store.describe(key, { updated: 100 + Math.floor(at / 2) });
        await store.release(key);
      }
      const all = await store.list();
      assert.equal(all.length, 9);
      const used = all.map(({ updated }) => updated);
      assert.deepEqual(
        used,
        used.toSorted((one, other) => other - one),
      );
      const pages: string[] = [];
      for (let after = undefined as HeldSession["record"] | undefined; ;) {
        const page = await store.list({ limit: 2, ...(after === undefined ? {} : { after }) });
        pages.push(...page.map(({ id }) => id));
        after = page.at(-1);
        if (after === undefined) break;
      }
      assert.deepEqual(
        pages,
        all.map(({ id }) => id),
      );
      assert.equal((await store.list({ cwd: "/a" })).length, 4);
      assert.equal((await store.list({ owner: "" })).length, 3);
      assert.equal((await store.list({ owner: "token ann", cwd: "/b" })).length, 1);
      await store.delete(all[0]?.id ?? "");
      assert.equal((await store.list()).length, 8);
    });

    it("deletes events for good, remembers the id, and begins it anew when asked to", async () => {
      await using rig = await open();
      const { store } = rig;
      const { key } = await store.create({ ...NEW, title: "Secret" });
      await settled(append(store, key, 3));
      await store.release(key);
      await store.delete("s1");
      await store.delete("s1");
      const record = await store.find("s1");
      assert.deepEqual([record?.isDeleted, record?.title, record?.notes], [true, undefined, {}]);
      assert.deepEqual((await Array.fromAsync(store.read("s1"))).flat(), []);
      await assert.rejects(store.hold("s1"), { code: "closed" });
      await assert.rejects(store.delete("none"), { code: "not-found" });
      const again = await store.create({ ...NEW, cwd: "/b", notes: {} });
      assert.deepEqual([again.last, again.record.cwd, again.record.isDeleted], [0, "/b", false]);
      await settled(append(store, again.key, 2));
      assert.deepEqual(numbers((await Array.fromAsync(store.read("s1"))).flat()), [1, 2]);
    });

    it("deletes a session that it holds, which then takes no events", async () => {
      await using rig = await open();
      const { store } = rig;
      const { key } = await store.create(NEW);
      await settled(append(store, key, 3));
      await store.delete("s1");
      assert.match((await failed(store.append(key, "agent", "{}"))).message, /not open/);
      assert.deepEqual((await Array.fromAsync(store.read("s1"))).flat(), []);
    });

    it("leaves no gap in the numbers after events that could not be stored", async () => {
      await using rig = await open();
      const { store } = rig;
      const { key } = await store.create(NEW);
      await settled(append(store, key, 3));
      const mend = await rig.breakStorage();
      const lost = append(store, key, 4);
      for (const appended of lost) await failed(appended);
      assert.ok(lost.every(({ failure }) => failure !== undefined));
      await mend();
      // A store may need a moment until it accepts events again.
      let next = store.append(key, "agent", '{"at":"next"}');
      while (next.failure !== undefined || (await next.stored.then(isDone, isNotDone))) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        next = store.append(key, "agent", '{"at":"next"}');
      }
      assert.equal(next.last, 4);
      const messages = (await Array.fromAsync(store.read("s1")))
        .flat()
        .map(({ message }) => message);
      assert.deepEqual(messages, [{ at: 1 }, { at: 2 }, { at: 3 }, { at: "next" }]);
      const reopened = await rig.reopen();
      assert.equal((await reopened.hold("s1")).last, 4);
    });
  });
}

const isDone = (): boolean => false;
const isNotDone = (): boolean => true;

type Appended = ReturnType<SessionStore["append"]>;

function append(store: SessionStore, key: number, count: number): Appended[] {
  return range(1, count).map((at) =>
    store.append(key, at % 2 === 1 ? "client" : "agent", JSON.stringify({ at })),
  );
}

async function settled(appended: readonly Appended[]): Promise<void> {
  await Promise.all(appended.map(({ stored }) => stored));
}

async function failed(appended: Appended): Promise<Error> {
  return await appended.stored.then(
    () => assert.fail("It was stored"),
    (error: Error) => error,
  );
}

function numbers(events: readonly { readonly seq: number }[]): number[] {
  return events.map(({ seq }) => seq);
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}
