import assert from "node:assert/strict";
import { build, type BuildOptions, stop } from "esbuild";
import { mkdtempDisposable, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { START, startChunk } from "./start-chunk.ts";

const SOURCES = {
  "package.json": `{ "type": "module" }`,
  "main.js": `import { count } from "./shared.js";
    import { name } from "./first.js";
    export const starts = [name, count(), import("./hot.js"), import("./cold.js"), import("./colder.js")];`,
  "first.js": `export const name = "first";`,
  "shared.js": `let counted = 0; export const count = () => ++counted; export const name = "shared";`,
  "hot.js": `import { count, name } from "./shared.js"; export const hot = () => [name, count()];`,
  "cold.js": `import { count, name } from "./shared.js"; import { own } from "./own.js";
    export default () => [own, name, count()];`,
  "own.js": `export const own = "own";`,
  "colder.js": `import { name } from "./first.js"; import { own } from "./own.js"; export { name, own };`,
};

test("startChunk() makes one file of what is loaded at a start, and nothing exists twice", async () => {
  await using _ = { [Symbol.asyncDispose]: stop };
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-chunks-"));
  for (const [name, text] of Object.entries(SOURCES))
    await writeFile(join(folder.path, name), text);
  const options = {
    absWorkingDir: folder.path,
    outdir: "out",
    bundle: true,
    format: "esm",
    splitting: true,
    metafile: true,
  } as const satisfies BuildOptions;
  const split = await build({ ...options, write: false, entryPoints: ["main.js"] });
  await build({
    ...options,
    entryPoints: [START],
    plugins: [startChunk(split, ["hot.js", "main.js"])],
  });
  const out = join(folder.path, "out");
  const files = (await readdir(out)).map((name) => name.replace(/-.*/, "")).toSorted();
  // What two of the others share is still a chunk, and `hot` only leads to the start.
  assert.deepEqual(files, ["chunk", "cold", "colder", "hot", "start.js"]);
  const { starts_main_js: starts } = await import(join(out, "start.js"));
  const [name, counted, hot, cold, colder] = await Promise.all(starts);
  assert.deepEqual([name, counted], ["first", 1]);
  assert.deepEqual(hot.hot(), ["shared", 2]);
  assert.deepEqual(cold.default(), ["own", "shared", 3]);
  assert.deepEqual([colder.name, colder.own], ["first", "own"]);
});
