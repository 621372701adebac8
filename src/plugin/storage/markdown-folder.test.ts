import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleStorage } from "../../../test/samples/sample-storage.ts";

/** Far more than any of these takes. */
const MOST_STEPS = 100;

/** Does something in a process that is killed before its n-th step, for every n there is. */
async function killedAtEachStep(
  program: string,
  check: (sample: SampleStorage) => Promise<string>,
): Promise<Set<string>> {
  const outcomes = new Set<string>();
  for (let step = 1; step < MOST_STEPS; step++) {
    await using sample = await SampleStorage.open("markdown");
    await sample.storage.write("a/b.md", { content: Buffer.from("one") }, 0);
    await sample.storage.write("a/b.md", { content: Buffer.from("two") }, 1);
    const child = sample.spawn(`
      import fs from "node:fs/promises";
      import { syncBuiltinESMExports } from "node:module";
      let left = ${step};
      for (const name of ["open", "rename", "mkdir", "rm", "unlink", "writeFile", "readdir"]) {
        const original = fs[name];
        fs[name] = (...args) => {
          left--;
          if (left === 0) process.kill(process.pid, "SIGKILL");
          return original(...args);
        };
      }
      syncBuiltinESMExports();
      ${program}`);
    const [code] = (await once(child, "exit")) as [number | null];
    outcomes.add(await check(sample));
    if (code === 0) return outcomes;
    assert.equal(code, null, `it failed at step ${step}`);
  }
  throw new Error(`It was not done after ${MOST_STEPS} steps`);
}

/** What is there, after which a change on top of it must be possible, and leave nothing behind. */
async function look({ storage, folder }: SampleStorage, path: string): Promise<string> {
  const found = await storage.read(path);
  const next = await storage.write(path, { content: Buffer.from("next") }, found?.version ?? 0);
  assert.ok(next > (found?.version ?? 0));
  assert.equal(String((await storage.read(path))?.content), "next");
  const own = await readdir(join(folder, ".projects/.trunkline"));
  assert.deepEqual(own.toSorted(), [".gitignore", "lock"]);
  return found === undefined ? "nothing" : `${String(found.content)} at ${found.version}`;
}

describe("MarkdownStorage, killed", { timeout: 120_000 }, () => {
  it("has the old document or the new one, never the new one as the old version", async () => {
    const program = `await storage.write("a/b.md", { content: Buffer.from("three") }, 2);`;
    const outcomes = await killedAtEachStep(program, (sample) => look(sample, "a/b.md"));
    assert.deepEqual([...outcomes], ["two at 2", "two at 3", "three at 3"]);
  });

  it("has a new document or none", async () => {
    const program = `await storage.write("c/d/e.md", { content: Buffer.from("new") }, 0);`;
    const outcomes = await killedAtEachStep(program, (sample) => look(sample, "c/d/e.md"));
    assert.deepEqual([...outcomes], ["nothing", "new at 1"]);
  });

  it("has a document or has deleted it", async () => {
    const program = `await storage.delete("a/b.md");`;
    const outcomes = await killedAtEachStep(program, (sample) => look(sample, "a/b.md"));
    assert.deepEqual([...outcomes], ["two at 2", "nothing"]);
  });
});
