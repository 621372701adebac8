import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type Finding, isSarif, readSarif, toSarif } from "./sarif.ts";
import { sampleLines, SampleRepository } from "../../../test/samples/sample-review-repository.ts";
import { exportThreads, isTransfer, readTransfer } from "./transfer.ts";

const PERSON = { by: "ada", role: "person" } as const;
const AGENT = { by: "claude", role: "agent" } as const;

describe("exportThreads() and readTransfer()", () => {
  it("carry threads to another machine with all that was said and seen, once", async () => {
    using sample = new SampleRepository();
    sample.write("a.txt", sampleLines(5));
    using commands = await sample.commands();
    const comment = { file: "a.txt", line: 3, suggestion: "x", by: "ada", source: "cli" };
    const { id } = await commands.add({ ...comment, comment: 'Über "quotes"\n', severity: "must" });
    await commands.reply(id, { ...AGENT, text: "done" });
    await commands.resolve(id, { ...PERSON, text: "good" });
    const { gitDir, root } = commands.here;
    const text = await exportThreads(commands.reviews, { gitDir });

    using other = new SampleRepository();
    other.write("a.txt", `new\n${sampleLines(5)}`);
    using there = await other.commands();
    const value = JSON.parse(text) as object;
    assert.ok(isTransfer(value));
    const threads = readTransfer(value, there.here);
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

  it("refuse what is wrong, and say where", () => {
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
    const read = (thread: unknown): unknown =>
      readTransfer({ format: "trunkline-review", version: 1, threads: [thread] }, repository);
    read(good);
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
      assert.throws(() => read({ ...good, ...change }), { code: "config", message: wrong });
    }
    assert.throws(() => readTransfer({ version: 2 }, repository), /version 2/);
  });
});

function plain(finding: Finding): object {
  const { id: _id, fingerprint: _fingerprint, ...rest } = finding;
  return rest;
}

describe("SARIF", () => {
  it("goes out with places, severities and suggestions, and comes back the same", async () => {
    using sample = new SampleRepository();
    sample.write("ä b.txt", sampleLines(5));
    using commands = await sample.commands();
    const comment = { file: "ä b.txt", line: 2, end: 3, by: "ada", source: "cli" };
    await commands.add({ ...comment, comment: "Is it?", severity: "question", suggestion: "x\n" });
    const text = toSarif(await commands.list(), sample.root, "1.0.0");
    const value = JSON.parse(text) as { runs: { results: Record<string, unknown>[] }[] };
    assert.ok(isSarif(value));
    const [result] = value.runs[0]?.results ?? [];
    assert.equal(result?.level, "note");
    assert.deepEqual(readSarif(value).map(plain), [
      {
        file: "ä b.txt",
        line: 2,
        end: 3,
        comment: "Is it?",
        severity: "question",
        by: "Trunkline",
      },
    ]);
    assert.ok(
      JSON.stringify(result).includes('"deletedRegion":{"startLine":2,"startColumn":1,"endLine":4'),
    );
  });

  it("is known when it comes back, here and where it came in before", async () => {
    using sample = new SampleRepository();
    sample.write("a.txt", sampleLines(5));
    using commands = await sample.commands();
    const comment = { file: "a.txt", comment: "Is it?", by: "ada", source: "cli" };
    const { id } = await commands.add({ ...comment, line: 2 });
    const value = JSON.parse(toSarif(await commands.list(), sample.root, "1.0.0")) as object;
    const [finding] = readSarif(value);
    assert.ok(finding);
    assert.deepEqual(await commands.add({ ...finding, source: "sarif" }), { id, isNew: false });

    using other = new SampleRepository();
    other.write("a.txt", sampleLines(5));
    using there = await other.commands();
    assert.deepEqual(await there.add({ ...finding, source: "sarif" }), { id, isNew: true });
    assert.deepEqual(await there.add({ ...finding, source: "sarif" }), { id, isNew: false });

    const foreign = JSON.stringify(value).replace(`":"${id}"`, `":"no id'; --"`);
    assert.equal(readSarif(JSON.parse(foreign) as object)[0]?.id, undefined);
  });

  it("of other programs comes in as far as it is about a file", () => {
    const location = (uri: string, region?: object): object => ({
      locations: [{ physicalLocation: { artifactLocation: { uri }, region } }],
    });
    const log = {
      version: "2.1.0",
      runs: [
        {
          tool: {
            driver: {
              name: "ESLint",
              rules: [{ id: "no-x", defaultConfiguration: { level: "error" } }],
            },
          },
          results: [
            {
              ruleId: "no-x",
              message: { text: "No x" },
              ...location("src/a%20b.ts", { startLine: 4 }),
            },
            { level: "note", message: { text: "Hm" }, ...location("file:///tmp/x.ts") },
            { message: { text: "nowhere" } },
            { message: {}, ...location("a") },
            { message: { text: "s" }, suppressions: [{ kind: "inSource" }], ...location("a") },
            null,
            7,
          ],
        },
        null,
      ],
    };
    const found = readSarif(log).map(plain);
    assert.deepEqual(found, [
      {
        file: "src/a b.ts",
        line: 4,
        end: 4,
        comment: "No x (no-x)",
        severity: "must",
        by: "ESLint",
      },
      { file: "/tmp/x.ts", comment: "Hm", severity: "nit", by: "ESLint" },
    ]);
    for (const version of ["1.0.0", 1]) {
      assert.throws(() => readSarif({ version, runs: [] }), { code: "config", message: /SARIF 1/ });
    }
  });
});
