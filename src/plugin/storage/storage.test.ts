import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";

import { rounds } from "../../../test/support/full-run.ts";
import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { sampleJson } from "../../../test/samples/sample-json.ts";
import { EXPECT_ANYTHING, EXPECT_NOTHING, MAX_CONTENT } from "./storage.ts";
import { increment, SampleStorage } from "../../../test/samples/sample-storage.ts";

const bytes = (text: string): { content: Buffer } => ({ content: Buffer.from(text) });

const HOSTILE = [
  ["", "it is empty"],
  [".", "it names no document"],
  ["../x.md", "'..' could lead out of the storage"],
  ["a/../../x.md", "'..' could lead out of the storage"],
  ["a/..", "'..' could lead out of the storage"],
  ["/etc/passwd", "it must be relative"],
  ["//x.md", "it must be relative"],
  ["a\0b.md", "it has control characters"],
  ["a\nb.md", "it has control characters"],
  ["a\u009bb.md", "it has control characters"],
  ["..\\x.md", "it has a backslash; separate its parts with '/'"],
  ["a\ud800.md", "it is not valid Unicode"],
  ["a/".repeat(3_000), "it is longer than 4096 bytes"],
  ["é".repeat(121), "a part of it is longer than 240 bytes"],
] as const;

/** How often a process is killed that writes to a storage. */
const KILLS = rounds({ few: 1, all: 8 });

describe("MarkdownStorage, as any storage", { timeout: 120_000 }, () => {
  it("is empty at first", async () => {
    await using sample = await SampleStorage.open();
    assert.equal(await sample.storage.read("a.md"), undefined);
    assert.equal(await sample.storage.delete("a.md"), false);
    assert.deepEqual(await sample.storage.list(""), []);
    assert.deepEqual(await sample.storage.list("a"), []);
  });

  it("writes only over the expected version, and reports the current one otherwise", async () => {
    await using sample = await SampleStorage.open();
    const { storage } = sample;
    const next = "Read it again, and repeat your change on what is there";
    await assert.rejects(storage.write("a.md", bytes("x"), 1), {
      code: "conflict",
      message: `Cannot write 'a.md': version conflict: expected version 1, but there is none. ${next}`,
    });
    assert.equal(await storage.write("a.md", bytes("1"), EXPECT_NOTHING), 1);
    await assert.rejects(storage.write("a.md", bytes("x"), EXPECT_NOTHING), {
      message: `Cannot write 'a.md': version conflict: expected no document (0), but it is at version 1. ${next}`,
    });
    assert.equal(await storage.write("a.md", bytes("2"), 1), 2);
    assert.equal(await storage.write("a.md", bytes("3"), EXPECT_ANYTHING), 3);
    for (const stale of [1, 2, 4]) {
      await assert.rejects(storage.write("a.md", bytes("x"), stale), {
        message: `Cannot write 'a.md': version conflict: expected version ${stale}, but it is at version 3. ${next}`,
      });
    }
    const found = await storage.read("a.md");
    assert.deepEqual(found, { content: found!.content, version: 3 });
    assert.equal(Buffer.from(found.content).toString(), "3");
    assert.equal(await storage.write("b.md", bytes(""), EXPECT_ANYTHING), 1);
  });

  it("refuses impossible versions", async () => {
    await using sample = await SampleStorage.open();
    for (const expected of [-2, 1.5, NaN, Infinity, 2 ** 60]) {
      await assert.rejects(sample.storage.write("a.md", bytes(""), expected), { code: "usage" });
    }
    assert.equal(await sample.storage.read("a.md"), undefined);
  });

  it("deletes a document, which can then be created again", async () => {
    await using sample = await SampleStorage.open();
    const { storage } = sample;
    await storage.write("a.md", { ...bytes("x"), metadata: { a: 1 } }, 0);
    assert.equal(await storage.delete("a.md"), true);
    assert.equal(await storage.read("a.md"), undefined);
    assert.equal(await storage.delete("a.md"), false);
    assert.deepEqual(await storage.list(""), []);
    await assert.rejects(storage.write("a.md", bytes("y"), 1), /there is none/);
    const version = await storage.write("a.md", bytes("z"), EXPECT_NOTHING);
    const found = await storage.read("a.md");
    assert.equal(found?.version, version);
    assert.equal(found?.metadata, undefined);
  });

  it("returns any bytes and any JSON unchanged", async () => {
    await using sample = await SampleStorage.open();
    const random = new SeededRandom(11);
    for (let round = 0; round < 150; round++) {
      const metadata = sampleJson(random);
      const opening = random.pick(["", "---\n", "---\r\nx: 1\n---\n", "\n", "\ufeff", "---"]);
      const content = Buffer.concat([Buffer.from(opening), random.bytes(random.below(300))]);
      const version = await sample.storage.write("a.md", { content, metadata }, -1);
      const found = await sample.storage.read("a.md");
      assert.equal(version, round + 1);
      assert.equal(found?.version, version);
      assert.deepEqual(Buffer.from(found.content), content, `round ${round}`);
      assert.deepEqual(found.metadata ?? {}, metadata, `round ${round}`);
    }
  });

  it("refuses metadata that is not JSON, and keeps the old one", async () => {
    await using sample = await SampleStorage.open();
    await sample.storage.write("a.md", { ...bytes("x"), metadata: { a: 1 } }, 0);
    for (const value of [NaN, 1n, new Date(), () => {}]) {
      const document = { ...bytes("y"), metadata: { at: [value] } };
      await assert.rejects(sample.storage.write("a.md", document, 1), /metadata\.at\[0\]/);
    }
    assert.deepEqual((await sample.storage.read("a.md"))?.metadata, { a: 1 });
  });

  it("accepts 16 MiB and no more", async () => {
    await using sample = await SampleStorage.open();
    const content = Buffer.alloc(MAX_CONTENT, "é");
    await sample.storage.write("big.md", { content, metadata: { big: true } }, 0);
    const found = await sample.storage.read("big.md");
    assert.ok(content.equals(found!.content));
    const more = { content: Buffer.alloc(MAX_CONTENT + 1) };
    await assert.rejects(sample.storage.write("big.md", more, 1), { code: "limit" });
    assert.equal((await sample.storage.read("big.md"))?.version, 1);
  });

  it("refuses paths that lead elsewhere, for every operation", async () => {
    await using sample = await SampleStorage.open();
    const { storage } = sample;
    for (const [path, problem] of HOSTILE) {
      const shown = JSON.stringify(path.slice(0, 100));
      const error = { code: "usage", message: `Cannot use the path ${shown}: ${problem}` };
      await assert.rejects(storage.read(path), error);
      await assert.rejects(storage.write(path, bytes("x"), -1), error);
      await assert.rejects(storage.delete(path), error);
      if (path !== "" && path !== ".") await assert.rejects(storage.list(path), error);
    }
    assert.deepEqual(await readdir(dirname(sample.folder)), ["data"]);
  });

  it("finds a document by every spelling of its path", async () => {
    await using sample = await SampleStorage.open();
    await sample.storage.write("./a//b..c/./d.md/", bytes("x"), 0);
    for (const path of ["a/b..c/d.md", "a/./b..c//d.md"]) {
      assert.equal((await sample.storage.read(path))?.version, 1);
      await assert.rejects(sample.storage.write(path, bytes("y"), 0), /version conflict/);
    }
    const entries = await sample.storage.list("");
    assert.deepEqual(
      entries.map(({ path }) => path),
      ["a/b..c/d.md"],
    );
  });

  it("lists the documents in a folder, by path, with their properties", async () => {
    await using sample = await SampleStorage.open();
    const { storage } = sample;
    const before = Date.now();
    const paths = ["b/c/d.md", "a.md", "b.md", "b/e.md", "b0.md", "bb/x.md", "b/f.txt", "b/é.md"];
    for (const path of paths) await storage.write(path, bytes("12345"), 0);
    await storage.write("b/e.md", bytes("1"), 1);
    const list = async (folder: string, pattern?: string): Promise<string[]> =>
      (await storage.list(folder, pattern)).map(({ path }) => path);
    assert.deepEqual(await list("b", "*.md"), ["b/c/d.md", "b/e.md", "b/é.md"]);
    assert.deepEqual(await list("b/", "*"), ["b/c/d.md", "b/e.md", "b/f.txt", "b/é.md"]);
    assert.deepEqual(await list("b.md"), ["b.md"]);
    assert.deepEqual(await list("b/c/d.m"), []);
    assert.deepEqual(await list(".", "[a-c].*"), ["a.md", "b.md"]);
    assert.deepEqual(await list("", "?.md"), [
      "a.md",
      "b.md",
      "b/c/d.md",
      "b/e.md",
      "b/é.md",
      "bb/x.md",
    ]);
    const [entry] = await storage.list("b/e.md");
    assert.deepEqual(entry, {
      path: "b/e.md",
      size: 1,
      version: 2,
      modifiedAt: entry!.modifiedAt,
    });
    assert.ok(Math.abs(entry.modifiedAt.getTime() - before) < 60_000);
  });

  it("loses no concurrent update in one process", async () => {
    await using sample = await SampleStorage.open();
    await Promise.all(Array.from({ length: 12 }, () => increment(sample.storage, "n.md")));
    const found = await sample.storage.read("n.md");
    assert.deepEqual([String(Buffer.from(found!.content)), found!.version], ["12", 12]);
  });

  it("loses no update of two processes that write one document", async () => {
    await using sample = await SampleStorage.open();
    const program = `for (let n = 0; n < 100; n++) await increment(storage, "a/n.md");`;
    const children = [sample.spawn(program), sample.spawn(program)];
    const exits = await Promise.all(children.map((child) => once(child, "exit")));
    assert.deepEqual(exits, [
      [0, null],
      [0, null],
    ]);
    const found = await sample.storage.read("a/n.md");
    assert.deepEqual([String(Buffer.from(found!.content)), found!.version], ["200", 200]);
  });

  it("keeps every confirmed write completely if it is killed while writing", async () => {
    await using sample = await SampleStorage.open();
    const random = new SeededRandom(5);
    const program = `
        let { version = 0, metadata } = (await storage.read("k.md")) ?? {};
        for (let n = (metadata?.n ?? 0) + 1; ; n++) {
          const content = Buffer.from((n + " ").repeat(20_000));
          version = await storage.write("k.md", { content, metadata: { n } }, version);
          // Nothing more is written before this can be read, however late that is.
          await new Promise((said) => process.stdout.write(n + " " + version + "\\n", said));
        }`;
    for (let round = 0; round < KILLS; round++) {
      const child = sample.spawn(program);
      let left = 1 + random.below(12);
      let acknowledged = [0, 0];
      for await (const line of createInterface({ input: child.stdout! })) {
        acknowledged = line.split(" ").map(Number);
        left--;
        // At any moment of the writes that follow.
        if (left === 0) setTimeout(() => child.kill("SIGKILL"), random.below(8));
      }
      const found = await sample.storage.read("k.md");
      const n = found!.metadata?.n as number;
      assert.ok(
        n >= acknowledged[0]! && n <= acknowledged[0]! + 1,
        `${n}, said ${acknowledged[0]}`,
      );
      assert.ok(found!.version >= acknowledged[1]!);
      // What was not acknowledged does not pass for what was.
      if (found!.version === acknowledged[1]) assert.equal(n, acknowledged[0]);
      assert.equal(Buffer.from(found!.content).toString(), `${n} `.repeat(20_000));
    }
    await increment(sample.storage, "other.md");
    assert.equal((await sample.storage.list("")).length, 2);
  });
});
