import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

/** Findings of an analyser; one is of a file that is not there. */
const SARIF = {
  version: "2.1.0",
  runs: [
    {
      tool: { driver: { name: "lint" } },
      results: ["a.txt", "../out.txt"].map((uri) => ({
        ruleId: "r1",
        message: { text: "Too quiet" },
        locations: [{ physicalLocation: { artifactLocation: { uri }, region: { startLine: 2 } } }],
      })),
    },
  ],
};

async function setUp(): Promise<SampleCommandLine> {
  const line = await SampleCommandLine.create();
  await line.home.write(join(line.home.project, "a.txt"), "one\ntwo\nthree\n");
  await line.home.write(join(line.home.project, "lint.sarif"), JSON.stringify(SARIF));
  return line;
}

describe("trunkline review import", () => {
  it("says in one line why a file cannot be imported", async () => {
    await using line = await SampleCommandLine.create();
    await line.home.write(join(line.home.project, "notes.txt"), "no\nJSON\n");
    const folder = await line.run("review", "import", ".");
    assert.equal(folder.err, "trunkline: Cannot read '.': it is a folder\n");
    const none = await line.run("review", "import", "none.json");
    assert.equal(none.err, "trunkline: Cannot read 'none.json': no such file\n");
    const text = await line.run("review", "import", "notes.txt");
    assert.match(text.err, /^trunkline: Cannot import the file: it is not JSON \(.*\)\.\n$/);
  });

  it("opens a thread for each finding once, and lists refused findings", async () => {
    await using line = await setUp();
    const first = await line.run("review", "import", "lint.sarif");
    assert.equal(first.code, 0);
    assert.equal(first.out, "Opened 1 thread; refused 1.\n");
    assert.match(first.err, /out\.txt/);
    const again = await line.run("review", "import", "lint.sarif");
    assert.equal(again.out, "Opened 0 threads; 1 existed already; refused 1.\n");
  });

  it("says how far it is with many findings", async () => {
    await using line = await setUp();
    const result = SARIF.runs[0]?.results[0];
    const results = Array.from({ length: 2500 }, (_, n) => ({
      ...result,
      message: { text: `Finding ${n}` },
    }));
    const many = { ...SARIF, runs: [{ ...SARIF.runs[0], results }] };
    await line.home.write(join(line.home.project, "many.sarif"), JSON.stringify(many));
    const { out, err } = await line.run("review", "import", "many.sarif");
    assert.equal(out, "Opened 2500 threads.\n");
    assert.equal(err, "Looked at 1000 of 2500 findings.\nLooked at 2000 of 2500 findings.\n");
  });

  it("accepts the output of export, on another machine", async () => {
    await using here = await setUp();
    await here.run("review", "add", "--file", "a.txt", "--line", "2", "-c", "Louder");
    const { out } = await here.run("review", "export");
    await using there = await setUp();
    await there.home.write(join(there.home.project, "threads.json"), out);
    const { added } = await there.json<{ added: number }>("review", "import", "threads.json");
    assert.equal(added, 1);
    assert.match((await there.run("review", "list")).out, / a\.txt:2 +Louder\n$/);
  });

  it("says where threads are that another clone on this machine has", async () => {
    await using line = await setUp();
    await line.run("review", "add", "--file", "a.txt", "--line", "2", "-c", "Louder");
    const { out } = await line.run("review", "export");
    const clone = join(line.home.project, "clone");
    line.git("init", "-q", clone);
    await line.home.write(join(clone, "threads.json"), out);
    const imported = await line.run("review", "import", "clone/threads.json", "--repo", clone);
    assert.equal(imported.code, 1);
    assert.match(imported.err, /^Thread r\w+ is in .* already\.\n$/);
    assert.ok(imported.err.includes(` ${line.home.project} `));
  });

  for (const [file, content, why] of [
    ["none.json", undefined, /Cannot read 'none\.json'/],
    ["bad.json", "{", /./],
  ] as const) {
    it(`fails for ${file}, and says why`, async () => {
      await using line = await setUp();
      if (content !== undefined) await line.home.write(join(line.home.project, file), content);
      const { code, out, err } = await line.run("review", "import", file);
      assert.deepEqual([code, out], [1, ""]);
      assert.match(err, why);
    });
  }
});

describe("trunkline review export", () => {
  it("writes SARIF that names the tool and the line", async () => {
    await using line = await setUp();
    await line.run("review", "add", "--file", "a.txt", "--line", "2", "-c", "Louder");
    const { out } = await line.run("review", "export", "--format", "sarif");
    const { version, runs } = JSON.parse(out) as typeof SARIF;
    assert.equal(version, "2.1.0");
    const [location] = runs[0]?.results[0]?.locations ?? [];
    assert.equal(location?.physicalLocation.region.startLine, 2);
  });
});
