import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const SRC = join(import.meta.dirname, "../../src");

/** Ways to start a program by its name. */
const STARTS = /(?:command:|spawn(?:Sync)?\(|exec(?:File)?(?:Sync)?\()\s*["'`]git\b/;

test("only two files start git: one for people's repositories, one for remote runs", () => {
  const files = globSync("**/*.ts", { cwd: SRC }).filter(
    (file) => !file.endsWith(".test.ts") && !/(?:^|\/)sample-/.test(file),
  );
  const found = files.filter((file) => STARTS.test(readFileSync(join(SRC, file), "utf8")));
  assert.deepEqual(found.toSorted(), ["git/git.ts", "git/server/server-git.ts"]);
});
