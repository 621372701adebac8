import assert from "node:assert/strict";
import { mkdtempDisposable, readdir, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type Build, installBuild } from "./install-build.ts";

const HOUR_MS = 60 * 60 * 1000;

function build(...chunks: string[]): Build {
  const launcher = { name: "start.js", text: `import("./${chunks[0]}");` };
  return { chunks: new Map(chunks.map((name) => [name, name])), launcher };
}

function hours(count: number): Date {
  return new Date(Date.UTC(2026, 0, 1) + count * HOUR_MS);
}

function folder() {
  return mkdtempDisposable(join(tmpdir(), "trunkline-build-"));
}

test("installBuild() writes the chunks and an executable launcher, and nothing else", async () => {
  await using dist = await folder();
  await installBuild(dist.path, build("a-1.js", "b-1.js"));
  assert.deepEqual((await readdir(dist.path)).toSorted(), ["a-1.js", "b-1.js", "start.js"]);
  assert.equal(await readFile(join(dist.path, "start.js"), "utf8"), 'import("./a-1.js");');
  assert.equal((await stat(join(dist.path, "start.js"))).mode & 0o777, 0o755);
});

test("installBuild() keeps nothing of an earlier build if asked to", async () => {
  await using dist = await folder();
  await installBuild(dist.path, build("a-1.js", "b-1.js"), hours(0));
  await installBuild(dist.path, build("a-2.js", "b-1.js"), hours(1), 0);
  assert.deepEqual((await readdir(dist.path)).toSorted(), ["a-2.js", "b-1.js", "start.js"]);
});

test("installBuild() keeps replaced chunks for a day after they were replaced", async () => {
  await using dist = await folder();
  await installBuild(dist.path, build("a-1.js", "b-1.js"), hours(0));
  // The program that runs from this build may have been started just now.
  await installBuild(dist.path, build("a-2.js", "b-1.js"), hours(100));
  assert.ok((await readdir(dist.path)).includes("a-1.js"));
  await installBuild(dist.path, build("a-3.js", "b-1.js"), hours(123));
  assert.ok((await readdir(dist.path)).includes("a-1.js"));
  await installBuild(dist.path, build("a-3.js", "b-1.js"), hours(125));
  assert.deepEqual((await readdir(dist.path)).toSorted(), [
    "a-2.js",
    "a-3.js",
    "b-1.js",
    "start.js",
  ]);
});

test("installBuild() survives another build of the same at the same time", async () => {
  await using dist = await folder();
  await Promise.all([
    installBuild(dist.path, build("a-1.js")),
    installBuild(dist.path, build("a-1.js")),
  ]);
  assert.deepEqual((await readdir(dist.path)).toSorted(), ["a-1.js", "start.js"]);
});
