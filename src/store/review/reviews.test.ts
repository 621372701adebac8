import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { promisify } from "node:util";

import { type NewThread } from "./reviews-rows.ts";
import { REVIEWS_FILE } from "../store-files.ts";
import { Reviews } from "./reviews.ts";
import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";

const REPOSITORY = { gitDir: "/somewhere/with space/é/.git", root: "/somewhere/with space/é" };
const PERSON = { by: "ada", role: "person" } as const;
const AGENT = { by: "claude", role: "agent" } as const;

function comment(text: string, more: Partial<NewThread> = {}): NewThread {
  const anchor = { path: "src/main.go", side: "new", line: 42, end: 42 } as const;
  return {
    repository: REPOSITORY,
    anchor,
    comment: text,
    severity: "should",
    by: "ada",
    source: "test",
    ...more,
  };
}

async function delivered(reviews: Reviews, reader: string, limit = 10): Promise<string[]> {
  const { messages } = await reviews.take({ reader, limit, first: "newest" });
  await reviews.sent(
    reader,
    messages.map(({ seq }) => seq),
  );
  return messages.map(({ text }) => text);
}

/** Runs a script in another process, with the store open as `reviews`. */
async function elsewhere(folder: SampleFolder, script: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, programOf(folder, script, args));
  return stdout;
}

function programOf(folder: SampleFolder, script: string, args: string[]): string[] {
  const store = JSON.stringify(new URL("reviews.ts", import.meta.url).href);
  const program = `
    const { Reviews } = await import(${store});
    const reviews = await Reviews.open(${JSON.stringify(folder.path)});
    const comment = (text, path = "a") => ({ repository: ${JSON.stringify(REPOSITORY)},
      anchor: { path, side: "new" }, comment: text, severity: "nit", by: "x", source: "test" });
    ${script}`;
  return ["--input-type=module", "--eval", program, ...args];
}

describe("Reviews", () => {
  it("lists threads in the order they were opened, with short ids", async () => {
    await using folder = await SampleFolder.create();
    using reviews = await Reviews.open(folder.path);
    const first = await reviews.add(comment("one"));
    await reviews.add(comment("two; $(touch x) `\n\"'", { severity: "must" }));
    const threads = await reviews.list();
    assert.deepEqual(
      threads.map((thread) => [thread.comment, thread.severity, thread.state]),
      [
        ["one", "should", "open"],
        ["two; $(touch x) `\n\"'", "must", "open"],
      ],
    );
    assert.match(first.id, /^r[0-9a-z]{5}$/);
    assert.deepEqual((await reviews.get(first.id)).repository, REPOSITORY);
    assert.equal((await reviews.get(first.id.toUpperCase())).comment, "one");
  });

  it("finds a thread by the beginning of its id, and lists the candidates if there are several", async () => {
    await using folder = await SampleFolder.create();
    using reviews = await Reviews.open(folder.path);
    await reviews.addAll([comment("one", { id: "rabc12" }), comment("two", { id: "rabd34" })]);
    assert.equal((await reviews.get("rabc")).comment, "one");
    await assert.rejects(reviews.get("rab"), { code: "not-found", message: /rabc12, rabd34/ });
    await assert.rejects(reviews.get(""), { code: "not-found" });
    await assert.rejects(reviews.get("x' OR 1=1 --"), { code: "not-found" });
  });

  it("treats threads with the same fingerprint or id as one", async () => {
    await using folder = await SampleFolder.create();
    using reviews = await Reviews.open(folder.path);
    const one = await reviews.add(comment("one", { fingerprint: "f" }));
    const again = await reviews.add(comment("one", { fingerprint: "f" }));
    assert.deepEqual(again, { id: one.id, isNew: false });
    assert.equal((await reviews.add(comment("other", { id: one.id }))).isNew, false);
    const other = { gitDir: "/other/.git", root: "/other" };
    const there = await reviews.add(comment("one", { fingerprint: "f", repository: other }));
    assert.equal(there.isNew, true);
    assert.equal((await reviews.list()).length, 2);
  });

  it("stores the text that was commented on", async () => {
    await using folder = await SampleFolder.create();
    using reviews = await Reviews.open(folder.path);
    const content = Buffer.from("ä\r\nb\0".repeat(1000));
    const anchor = { path: "x", side: "new", blob: "abc" } as const;
    await reviews.add(comment("one", { anchor, content }));
    assert.deepEqual(Buffer.from((await reviews.text("abc")) ?? []), content);
    assert.equal(await reviews.text("def"), undefined);
  });

  it("never alters an event", async () => {
    await using folder = await SampleFolder.create();
    using reviews = await Reviews.open(folder.path);
    await reviews.add(comment("one"));
    using raw = new DatabaseSync(join(folder.path, REVIEWS_FILE));
    assert.throws(() => raw.exec("UPDATE event SET author = 'x'"), /never altered/);
    assert.throws(() => raw.exec("DELETE FROM event"), /never forgotten/);
  });

  describe("states", () => {
    it("go from open by claim and answer to resolved and back, with every step recorded", async () => {
      await using folder = await SampleFolder.create();
      using reviews = await Reviews.open(folder.path);
      const { id } = await reviews.add(comment("why?", { severity: "question" }));
      const [claimed] = await reviews.claim({ agent: "claude", lease: 1000 });
      assert.equal(claimed?.state, "claimed");
      assert.equal(claimed?.claim?.agent, "claude");
      assert.equal((await reviews.reply(id, { ...AGENT, text: "because" })).state, "answered");
      assert.equal((await reviews.reply(id, { ...PERSON, text: "no" })).state, "reopened");
      const proposal = { commit: "abc", text: "fixed" };
      assert.equal((await reviews.propose(id, { ...AGENT, proposal })).state, "proposed");
      assert.equal((await reviews.resolve(id, PERSON)).state, "resolved");
      assert.equal((await reviews.resolve(id, PERSON)).state, "resolved");
      assert.equal((await reviews.reopen(id, { ...PERSON, text: "again" })).state, "reopened");
      const history = await reviews.history(id);
      assert.deepEqual(
        history.map(({ kind, role }) => `${role} ${kind}`),
        [
          "person opened",
          "agent claimed",
          "agent replied",
          "person replied",
          "agent proposed",
          "person resolved",
          "person reopened",
        ],
      );
      assert.deepEqual(history[4]?.proposal, proposal);
    });

    it("let only a person resolve and reopen, and nobody work on a resolved thread", async () => {
      await using folder = await SampleFolder.create();
      using reviews = await Reviews.open(folder.path);
      const { id } = await reviews.add(comment("one"));
      await assert.rejects(reviews.resolve(id, AGENT), /only a person can/);
      await assert.rejects(reviews.reopen(id, PERSON), /it is open/);
      await reviews.resolve(id, PERSON);
      await assert.rejects(reviews.reply(id, { ...AGENT, text: "x" }), /it is resolved/);
      await assert.rejects(reviews.claim({ agent: "a", lease: 1000, id }), /it is resolved/);
      assert.deepEqual(await reviews.claim({ agent: "a", lease: 1000 }), []);
    });

    it("keep a claim when a person adds something to it", async () => {
      await using folder = await SampleFolder.create();
      using reviews = await Reviews.open(folder.path);
      const { id } = await reviews.add(comment("one"));
      await reviews.claim({ agent: "claude", lease: 1000, id });
      const thread = await reviews.reply(id, { ...PERSON, text: "and this" });
      assert.equal(thread.state, "claimed");
      assert.equal(thread.claim?.agent, "claude");
    });
  });

  describe("claims", () => {
    it("belong to one agent, until they are released or the lease ends", async () => {
      await using folder = await SampleFolder.create();
      let now = 1000;
      using reviews = await Reviews.open(folder.path, () => now);
      const { id } = await reviews.add(comment("one"));
      await reviews.claim({ agent: "a", lease: 100, id });
      await assert.rejects(reviews.claim({ agent: "b", lease: 100, id }), /a has claimed it until/);
      await assert.rejects(
        reviews.reply(id, { by: "b", role: "agent", text: "x" }),
        /a has claimed/,
      );
      assert.deepEqual(await reviews.claim({ agent: "b", lease: 100 }), []);
      now += 60;
      await reviews.renew("a", 100);
      now += 60;
      assert.deepEqual(await reviews.claim({ agent: "b", lease: 100 }), []);
      now += 60;
      assert.equal((await reviews.get(id)).state, "open");
      assert.equal((await reviews.claim({ agent: "b", lease: 100 }))[0]?.claim?.agent, "b");
      assert.equal(await reviews.release({ ids: [id] }), 1);
      assert.equal((await reviews.list({ states: ["open"] })).length, 1);
      const kinds = (await reviews.history(id)).map(({ kind }) => kind);
      assert.deepEqual(kinds, ["opened", "claimed", "returned", "claimed", "returned"]);
    });

    it("belong to one client of a process that serves several, until it is gone", async () => {
      await using folder = await SampleFolder.create();
      using reviews = await Reviews.open(folder.path);
      const { id } = await reviews.add(comment("one"));
      const agent = "a";
      await reviews.claim({ agent, client: "1", lease: 1000, id });
      const other = { agent, client: "2", lease: 1000, id };
      await assert.rejects(reviews.claim(other), /another client named a has claimed it until/);
      const saying = { by: agent, client: "2", role: "agent", text: "x" } as const;
      await assert.rejects(reviews.reply(id, saying), /another client named a has claimed/);
      await reviews.claim({ ...other, client: "1" });
      assert.equal(await reviews.release({ client: "2" }), 0);
      assert.equal(await reviews.release({ client: "1" }), 1);
      assert.equal((await reviews.claim(other)).length, 1);
    });

    it("are released at once when their process is killed", async () => {
      await using folder = await SampleFolder.create();
      using reviews = await Reviews.open(folder.path);
      await reviews.add(comment("one"));
      const script = `
        await reviews.claim({ agent: "a", lease: 1e9 });
        console.log("claimed");
        setInterval(() => {}, 1000);`;
      const child = spawn(process.execPath, programOf(folder, script, []));
      await once(child.stdout, "data");
      assert.deepEqual(await reviews.claim({ agent: "b", lease: 1000 }), []);
      child.kill("SIGKILL");
      await once(child, "exit");
      assert.equal((await reviews.claim({ agent: "b", lease: 1000 })).length, 1);
    });

    it("never give two processes the same thread", async () => {
      await using folder = await SampleFolder.create();
      using reviews = await Reviews.open(folder.path);
      await reviews.addAll(Array.from({ length: 60 }, (_, n) => comment(`${n}`)));
      const script = `
        const mine = [];
        for (;;) {
          const [thread] = await reviews.claim({ agent: process.argv[1], lease: 1e9 });
          if (thread === undefined) break;
          mine.push(thread.id);
          await reviews.reply(thread.id, { by: process.argv[1], role: "agent", text: "done" });
        }
        console.log(mine.join(" "));`;
      const runs = ["a", "b", "c"].map((name) => elsewhere(folder, script, name));
      const ids = (await Promise.all(runs)).flatMap((out) => out.trim().split(" ").filter(Boolean));
      assert.equal(ids.length, 60);
      assert.equal(new Set(ids).size, 60);
    });
  });

  describe("delivery", () => {
    it("gives each reader every comment once, the newest first if there are too many", async () => {
      await using folder = await SampleFolder.create();
      using reviews = await Reviews.open(folder.path);
      await reviews.addAll(Array.from({ length: 15 }, (_, n) => comment(`${n + 1}`)));
      const numbers = (from: number, to: number): string[] =>
        Array.from({ length: to - from + 1 }, (_, n) => `${from + n}`);
      assert.deepEqual(await delivered(reviews, "a"), numbers(6, 15));
      assert.equal(await reviews.waiting("a"), 5);
      assert.deepEqual(await delivered(reviews, "a"), numbers(1, 5));
      assert.deepEqual(await delivered(reviews, "a"), []);
      assert.deepEqual(await delivered(reviews, "b", 100), numbers(1, 15));
    });

    it("includes later replies of a person, and leaves out resolved threads", async () => {
      await using folder = await SampleFolder.create();
      using reviews = await Reviews.open(folder.path);
      const { id } = await reviews.add(comment("one"));
      await delivered(reviews, "a");
      await reviews.reply(id, { ...AGENT, text: "done" });
      await reviews.reply(id, { ...PERSON, text: "not quite" });
      assert.deepEqual(await delivered(reviews, "a"), ["not quite"]);
      await reviews.resolve(id, { ...PERSON, text: "good" });
      assert.deepEqual(await delivered(reviews, "a"), []);
      assert.deepEqual(await delivered(reviews, "late"), []);
    });

    it("keeps repositories apart", async () => {
      await using folder = await SampleFolder.create();
      using reviews = await Reviews.open(folder.path);
      const other = { gitDir: "/other/.git", root: "/other" };
      await reviews.addAll([comment("here"), comment("there", { repository: other })]);
      const request = { reader: "a", limit: 10, first: "oldest" } as const;
      const { messages } = await reviews.take({ ...request, gitDir: other.gitDir });
      assert.deepEqual(
        messages.map(({ text }) => text),
        ["there"],
      );
      assert.equal((await reviews.list({ gitDir: REPOSITORY.gitDir })).length, 1);
    });

    it("does not deliver again what is being sent, but does deliver what was taken back", async () => {
      await using folder = await SampleFolder.create();
      using reviews = await Reviews.open(folder.path);
      await reviews.add(comment("one"));
      const request = { reader: "a", limit: 10, first: "oldest" } as const;
      const [message] = (await reviews.take(request)).messages;
      assert.deepEqual((await reviews.take(request)).messages, []);
      await reviews.takeBack("a", [message?.seq ?? 0]);
      assert.equal((await reviews.take(request)).messages.length, 1);
    });

    it("records the outcome of deliveries later if the disk failed", async () => {
      await using folder = await SampleFolder.create();
      using disk = new DiskFaults(folder.path);
      const request = { reader: "a", limit: 1, first: "oldest" } as const;
      {
        using reviews = await Reviews.open(folder.path);
        await reviews.addAll([comment("one"), comment("two"), comment("three")]);
        const [one] = (await reviews.take(request)).messages;
        const [two] = (await reviews.take(request)).messages;
        disk.decide = ({ operation }) => {
          return /^(?:BEGIN|writeSync)/.test(operation) ? "torn" : undefined;
        };
        await assert.rejects(reviews.sent("a", [one?.seq ?? 0]), /took/);
        await assert.rejects(reviews.takeBack("a", [two?.seq ?? 0]), { code: "unavailable" });
        disk.decide = () => undefined;
        const [again] = (await reviews.take(request)).messages;
        assert.equal(again?.text, "two");
        await reviews.sent("a", [again?.seq ?? 0]);
      }
      using reviews = await Reviews.open(folder.path);
      assert.deepEqual(await delivered(reviews, "a"), ["three"]);
    });

    it("delivers again what a process took but did not send before it died", async () => {
      await using folder = await SampleFolder.create();
      using reviews = await Reviews.open(folder.path);
      await reviews.addAll([comment("one"), comment("two")]);
      const script = `
        const take = () => reviews.take({ reader: "a", limit: 1, first: "oldest" });
        const [message] = (await take()).messages;
        await reviews.sent("a", [message.seq]);
        await take();
        process.kill(process.pid, "SIGKILL");`;
      await assert.rejects(elsewhere(folder, script));
      assert.deepEqual(await delivered(reviews, "a"), ["two"]);
    });

    it("does not deliver again what a process sent before it died, even if the database lacks it", async () => {
      await using folder = await SampleFolder.create();
      using reviews = await Reviews.open(folder.path);
      await reviews.addAll([comment("one"), comment("two")]);
      const script = `
        const request = { reader: "a", limit: 1, first: "oldest" };
        const [message] = (await reviews.take(request)).messages;
        const { DatabaseSync } = await import("node:sqlite");
        const other = new DatabaseSync(reviews.path);
        other.exec("BEGIN IMMEDIATE");
        void reviews.sent("a", [message.seq]);
        process.kill(process.pid, "SIGKILL");`;
      await assert.rejects(elsewhere(folder, script));
      assert.deepEqual(await delivered(reviews, "a"), ["two"]);
    });

    it("loses no concurrent write of several processes, and keeps each file's order", async () => {
      await using folder = await SampleFolder.create();
      using reviews = await Reviews.open(folder.path);
      const script = `
        for (let n = 0; n < 40; n++) await reviews.add(comment(String(n), process.argv[1]));`;
      const names = ["a", "b", "c", "d", "e"];
      const writers = Promise.all(names.map((name) => elsewhere(folder, script, name)));
      const got: string[] = [];
      const read = async (): Promise<number> => {
        const { messages } = await reviews.take({ reader: "r", limit: 7, first: "oldest" });
        got.push(...messages.map(({ anchor, text }) => `${anchor.path} ${text}`));
        await reviews.sent(
          "r",
          messages.map(({ seq }) => seq),
        );
        return messages.length;
      };
      const state = { isWriting: true };
      void writers.finally(() => (state.isWriting = false)).catch(() => {});
      while (state.isWriting || (await read()) > 0) {
        await read();
        // Reading alone would leave this process no moment to hear that the writers are done.
        await turn();
      }
      await writers;
      assert.equal(got.length, 200);
      for (const name of names) {
        const own = got.filter((line) => line.startsWith(name));
        assert.deepEqual(
          own,
          Array.from({ length: 40 }, (_, n) => `${name} ${n}`),
        );
      }
    });
  });
});
