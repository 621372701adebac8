import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { type Hit, searchText, type TextSearch } from "./search-text.ts";

describe("searchText()", () => {
  const folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-search-"));
  after(() => folder.remove());
  const at = folder.path;
  const run = (search: Partial<TextSearch>): Promise<Hit[]> => {
    return searchText({
      folder: at,
      pattern: "",
      signal: new AbortController().signal,
      ...search,
    });
  };
  const places = async (search: Partial<TextSearch>): Promise<string[]> => {
    return (await run(search)).map(({ path, line }) => `${path}:${line}`);
  };

  it("finds lines, in order, and cuts long ones", async () => {
    prepare(at);
    assert.deepEqual(await places({ pattern: "needle" }), [
      ".hidden:1",
      "a b.txt:2",
      "a:b.txt:1",
      "src/deep.ts:1",
    ]);
    const [long] = await run({ pattern: "LONG" });
    assert.ok((long?.text.length ?? Infinity) < 1_100);
  });

  it("matches a literal pattern, case-insensitively, and only in selected files", async () => {
    prepare(at);
    assert.deepEqual(await places({ pattern: "f(x", literal: true }), ["src/deep.ts:2"]);
    assert.deepEqual(await places({ pattern: "NEEDLE", glob: "*.ts" }), []);
    const loose = { pattern: "NEEDLE", ignoreCase: true, glob: "*.ts" };
    assert.deepEqual(await places(loose), ["src/deep.ts:1"]);
    assert.deepEqual(await places({ pattern: "--version" }), []);
  });

  it("reports what is wrong with a pattern", async () => {
    prepare(at);
    await assert.rejects(run({ pattern: "(" }), /Cannot search for '\('/);
  });

  it("ends when it is cancelled", async () => {
    prepare(at);
    const controller = new AbortController();
    controller.abort(new Error("enough"));
    await assert.rejects(run({ pattern: "needle", signal: controller.signal }), /enough/);
  });

  it("takes \\d as models write it", async () => {
    prepare(at);
    writeFileSync(join(at, "numbers"), "v12.5\n");
    assert.deepEqual(await places({ pattern: String.raw`v\d+[.\d]*$` }), ["numbers:1"]);
    rmSync(join(at, "numbers"));
  });
});

function prepare(at: string): void {
  mkdirSync(join(at, "src"), { recursive: true });
  mkdirSync(join(at, ".git"), { recursive: true });
  writeFileSync(join(at, ".gitignore"), "*.log\n");
  writeFileSync(join(at, ".hidden"), "needle\n");
  writeFileSync(join(at, "a b.txt"), "hay\nneedle\n");
  writeFileSync(join(at, "a:b.txt"), "needle\n");
  writeFileSync(join(at, "x.log"), "needle\n");
  writeFileSync(join(at, "binary"), Buffer.from("needle\0needle"));
  writeFileSync(join(at, "src/deep.ts"), "needle\nf(x)\n");
  writeFileSync(join(at, "long.txt"), `${"LONG ".repeat(5_000)}\n`);
  if (!existsSync(join(at, "loop"))) symlinkSync(".", join(at, "loop"));
}
