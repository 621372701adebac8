import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type AnalyserFinding, isSarif, readSarif, toSarif } from "./transfer.ts";
import { sampleLines, SampleRepository } from "../../../test/samples/sample-review-repository.ts";

function plain(finding: AnalyserFinding): object {
  const { id: _id, fingerprint: _fingerprint, ...rest } = finding;
  return rest;
}

describe("SARIF", () => {
  it("exports positions, severities and suggestions, and imports them unchanged", async () => {
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

  it("is recognised when it is imported again, here and where it was imported before", async () => {
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

  it("of other programs is imported if it is about a file", () => {
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
