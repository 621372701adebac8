import assert from "node:assert/strict";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { type Approval, checkApproval } from "../schema.gen.ts";
import { ApprovalsFile, isSame, keyOf, see } from "./approvals-file.ts";

/** As it comes off the wire: `__proto__` is then a member like any other. */
const parsed = (text: string) => see({ name: "t", inputSchema: JSON.parse(text) as unknown });

describe("see()", () => {
  it("gives equal descriptions one fingerprint, whatever the order of their members", () => {
    const one = parsed('{"b":[1,{"d":null,"c":"x"}],"a":{"__proto__":1}}');
    const other = parsed('{"a":{"__proto__":1},"b":[1,{"c":"x","d":null}]}');
    assert.equal(one.fingerprint, other.fingerprint);
    assert.ok(isSame(one, other));
  });

  it("distinguishes what JSON distinguishes", () => {
    const texts = [
      '{"a":1}',
      '{"a":"1"}',
      '{"a":[1]}',
      '{"a":null}',
      "{}",
      '{"__proto__":{"a":1}}',
    ];
    const seen = texts.map(parsed);
    assert.equal(new Set(seen.map(({ fingerprint }) => fingerprint)).size, texts.length);
    for (const [index, one] of seen.entries()) {
      assert.deepEqual(
        seen.map((other) => isSame(one, other)),
        texts.map((_, at) => at === index),
      );
    }
  });

  it("leaves out members that nobody is shown", () => {
    const plain = see({ name: "t" });
    const more = see({ name: "t", _meta: { build: 7 }, title: undefined });
    assert.ok(isSame(plain, more));
    assert.equal(plain.fingerprint, more.fingerprint);
  });

  it("stores only the fingerprint of a long description, which still detects a change", () => {
    const long = see({ name: "t", description: "x".repeat(70_000) });
    const changed = see({ name: "t", description: `${"x".repeat(69_999)}y` });
    assert.equal(long.described, undefined);
    assert.equal(isSame(long, changed), false);
    assert.ok(isSame(long, see({ name: "t", description: "x".repeat(70_000) })));
  });
});

describe("keyOf()", () => {
  it("gives each pair of server and tool a different key", () => {
    assert.notEqual(keyOf("a", "b c"), keyOf("a b", "c"));
    assert.notEqual(keyOf('a","b', "c"), keyOf("a", 'b","c'));
  });
});

describe("checkApproval()", () => {
  it("accepts what was written, and nothing with a member of another type", () => {
    const seen = { fingerprint: "f", time: "2026-01-01T00:00:00.000Z" };
    assert.equal(checkApproval({ server: "s", name: "n" }), undefined);
    assert.equal(checkApproval({ server: "s", name: "n", approved: seen, held: seen }), undefined);
    for (const value of [
      null,
      "text",
      { server: "s" },
      { server: 1, name: "n" },
      { server: "s", name: "n", approved: null },
      { server: "s", name: "n", approved: {} },
      { server: "s", name: "n", held: { fingerprint: 1 } },
    ]) {
      assert.ok(checkApproval(value), JSON.stringify(value));
    }
  });
});

const SEEN = { fingerprint: "f", time: "2026-01-01T00:00:00.000Z" };
const tool = (server: string, name: string): Approval => ({ server, name, approved: SEEN });
const put = (all: Map<string, Approval>, one: Approval) =>
  void all.set(keyOf(one.server, one.name), one);

describe("ApprovalsFile", () => {
  it("treats a missing file or folder as one without approvals", async () => {
    await using folder = await SampleFolder.create();
    assert.deepEqual(await new ApprovalsFile(folder.path).read(), new Map());
    await writeFile(folder.path, "");
    assert.deepEqual(await new ApprovalsFile(folder.path).read(), new Map());
    await assert.rejects(
      new ApprovalsFile(folder.path).update(() => {}),
      { code: "unavailable", message: /Cannot write/ },
    );
  });

  for (const [text, why] of [
    ["{", "it is not JSON"],
    ["null", "it has no list of tools"],
    ['{"tools":{}}', "it has no list of tools"],
    ['{"tools":[{"server":"s"}]}', "it has no list of tools"],
  ] as const) {
    it(`reports for ${text} that ${why}, and how to continue`, async () => {
      await using folder = await SampleFolder.create();
      await mkdir(folder.path);
      await writeFile(join(folder.path, "approvals.json"), text);
      const file = new ApprovalsFile(folder.path);
      await assert.rejects(file.read(), {
        code: "config",
        message: new RegExp(`${why}. Repair it`),
      });
      await assert.rejects(file.update((all) => put(all, tool("s", "a"))));
      assert.equal(await readFile(file.path, "utf8"), text, "what is there stays as it is");
    });
  }

  it("changes the state on disk, not what it last read, in an order that diffs well", async () => {
    await using folder = await SampleFolder.create();
    const [one, other] = [new ApprovalsFile(folder.path), new ApprovalsFile(folder.path)];
    await one.update((all) => put(all, tool("s", "b")));
    const all = await other.update((known) => put(known, tool("s", "a")));
    assert.deepEqual([...all.keys()].toSorted(), [keyOf("s", "a"), keyOf("s", "b")]);
    const { tools } = JSON.parse(await readFile(one.path, "utf8")) as { tools: Approval[] };
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["a", "b"],
    );
    assert.equal((await stat(one.path)).mode & 0o777, 0o600);
  });

  it("reports changes until it is stopped", async () => {
    await using folder = await SampleFolder.create();
    const file = new ApprovalsFile(folder.path);
    const changed = Promise.withResolvers<Map<string, Approval>>();
    const unwatch = file.watch((read) => void read.then(changed.resolve, changed.reject));
    try {
      await new ApprovalsFile(folder.path).update((all) => put(all, tool("s", "a")));
      assert.deepEqual([...(await changed.promise).keys()], [keyOf("s", "a")]);
    } finally {
      unwatch();
    }
  });
});
