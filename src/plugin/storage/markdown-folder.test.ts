import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempDisposable, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleStorage } from "../../../test/samples/sample-storage.ts";
import { markdownStorage } from "./markdown-storage.ts";

/**
 * Does something in another process, which copies the workspace before each step that it takes on
 * the disk: what is in a copy is what a process leaves that is killed there. Returns what each copy
 * holds, and what there is in the end.
 */
async function leftAtEachStep(program: string, path: string): Promise<Set<string>> {
  await using copies = await mkdtempDisposable(join(tmpdir(), "trunkline-steps-"));
  await using sample = await SampleStorage.open();
  await sample.storage.write("a/b.md", { content: Buffer.from("one") }, 0);
  await sample.storage.write("a/b.md", { content: Buffer.from("two") }, 1);
  const child = sample.spawn(`
    import { cpSync } from "node:fs";
    import fs from "node:fs/promises";
    import { syncBuiltinESMExports } from "node:module";
    let step = 0;
    for (const name of ["open", "rename", "mkdir", "rm", "unlink", "writeFile", "readdir"]) {
      const original = fs[name];
      fs[name] = (...args) => {
        const copy = ${JSON.stringify(copies.path)} + "/" + String(step++).padStart(3, "0");
        cpSync(${JSON.stringify(sample.folder)}, copy, { recursive: true });
        return original(...args);
      };
    }
    syncBuiltinESMExports();
    ${program}`);
  const [code] = (await once(child, "exit")) as [number | null];
  assert.equal(code, 0);
  const steps = (await readdir(copies.path)).toSorted();
  assert.ok(steps.length > 3, `it took ${steps.length} steps`);
  const outcomes = new Set<string>();
  for (const folder of [...steps.map((step) => join(copies.path, step)), sample.folder]) {
    outcomes.add(await look(folder, path));
  }
  return outcomes;
}

/** What is there, after which a change on top of it must be possible, and leave nothing behind. */
async function look(folder: string, path: string): Promise<string> {
  const storage = markdownStorage(folder);
  const found = await storage.read(path);
  const next = await storage.write(path, { content: Buffer.from("next") }, found?.version ?? 0);
  assert.ok(next > (found?.version ?? 0));
  assert.equal(String((await storage.read(path))?.content), "next");
  const own = await readdir(join(folder, ".projects/.trunkline"));
  assert.deepEqual(own.toSorted(), [".gitignore", "lock"]);
  return found === undefined ? "nothing" : `${String(found.content)} at ${found.version}`;
}

describe("MarkdownFolder, whose process is killed", { timeout: 120_000 }, () => {
  it("has the old document or the new one, never the new one with the old version", async () => {
    const program = `await storage.write("a/b.md", { content: Buffer.from("three") }, 2);`;
    const outcomes = await leftAtEachStep(program, "a/b.md");
    assert.deepEqual([...outcomes], ["two at 2", "two at 3", "three at 3"]);
  });

  it("has a new document or none", async () => {
    const program = `await storage.write("c/d/e.md", { content: Buffer.from("new") }, 0);`;
    const outcomes = await leftAtEachStep(program, "c/d/e.md");
    assert.deepEqual([...outcomes], ["nothing", "new at 1"]);
  });

  it("has a document or its deletion", async () => {
    const program = `await storage.delete("a/b.md");`;
    const outcomes = await leftAtEachStep(program, "a/b.md");
    assert.deepEqual([...outcomes], ["two at 2", "nothing"]);
  });
});
