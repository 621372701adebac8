import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { sampleLines, SampleRepository } from "../../../test/samples/sample-review-repository.ts";
import { exportThreads, isTransfer, readTransfer } from "./transfer.ts";

const PERSON = { by: "ada", role: "person" } as const;
const AGENT = { by: "claude", role: "agent" } as const;

describe("exportThreads() and readTransfer()", () => {
  it("carry threads to another machine with all events, once", async () => {
    using sample = new SampleRepository();
    sample.write("a.txt", sampleLines(5));
    using commands = await sample.commands();
    const comment = { file: "a.txt", line: 3, suggestion: "x", by: "ada", source: "cli" };
    const { id } = await commands.add({ ...comment, comment: 'Über "quotes"\n', severity: "must" });
    await commands.say("reply", id, { ...AGENT, text: "done" });
    await commands.say("resolve", id, { ...PERSON, text: "good" });
    const { gitDir, root } = commands.here;
    const text = await exportThreads(commands.reviews, { gitDir });

    using other = new SampleRepository();
    other.write("a.txt", `new\n${sampleLines(5)}`);
    using there = await other.commands();
    const value = JSON.parse(text) as object;
    assert.ok(isTransfer(value));
    const { threads } = readTransfer(value, there.here);
    assert.deepEqual(await there.reviews.addAll(threads), [{ id, isNew: true }]);
    assert.deepEqual(await there.reviews.addAll(threads), [{ id, isNew: false }]);
    const [ours, theirs] = [await commands.show(id), await there.show(id)];
    assert.equal(theirs.line, 4);
    assert.equal(theirs.confidence, "exact");
    const { repository, line: _line, end: _end, original: _original, ...same } = theirs;
    assert.equal(repository, other.root);
    assert.partialDeepStrictEqual(ours, same);
    assert.equal(ours.repository, root);
    assert.equal((await there.reviews.list({ states: ["resolved"] })).length, 1);
  });

  it("refuse invalid input, with its position", () => {
    const repository = { gitDir: "/x", root: "/x" };
    const good = {
      id: "rabcde",
      state: "open",
      severity: "nit",
      comment: "c",
      by: "b",
      source: "s",
      at: 1,
      anchor: { path: "a", side: "new" },
      events: [],
    };
    const read = (...threads: unknown[]): ReturnType<typeof readTransfer> =>
      readTransfer({ format: "trunkline-review", version: 1, threads }, repository);
    assert.deepEqual(read(good).refused, []);
    const cases: [object, RegExp][] = [
      [{ id: "'; --" }, /threads\[0\]\.id/],
      [{ state: "x" }, /\.state/],
      [{ comment: 3 }, /\.comment/],
      [{ anchor: { path: "../x", side: "new" } }, /\.anchor/],
      [{ anchor: { path: "/x", side: "new" } }, /\.anchor/],
      [{ anchor: { path: "x/.GIT/config", side: "new" } }, /\.anchor/],
      [{ anchor: { path: "x", side: "new", line: 0 } }, /\.anchor/],
      [{ at: 9e15 }, /\.at/],
      [{ anchor: { path: "x", side: "new", commit: "--output=x" } }, /\.anchor/],
      [{ anchor: { path: "x", side: "new", quote: "x" } }, /\.anchor/],
      [{ suggestion: { lines: [1] } }, /\.suggestion/],
      [{ text: "aGVsbG8K", anchor: { path: "x", side: "new", blob: "0".repeat(40) } }, /\.text/],
      [{ events: [{ kind: "opened" }] }, /\.events/],
      [
        { events: [{ kind: "proposed", at: 1, by: "b", role: "agent", proposal: null }] },
        /\.events/,
      ],
    ];
    for (const [change, wrong] of cases) {
      const { threads, refused } = read({ ...good, ...change }, good);
      assert.match(refused.join(), wrong);
      assert.equal(threads.length, 1, "the good one is imported");
    }
    assert.throws(() => readTransfer({ version: 2 }, repository), /version is 2/);
  });
});
