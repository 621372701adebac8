import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { serveUntilInterrupted } from "../support/npm-start.ts";

const ROOT = join(import.meta.dirname, "../..");

test("npm start in a fresh clone installs, builds and serves until Ctrl-C", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-fresh-"));
  const clone = join(folder.path, "trunkline");
  const home = join(folder.path, "home");
  await mkdir(home);
  await promisify(execFile)("git", ["clone", "--quiet", ROOT, clone]);

  const first = await serveUntilInterrupted(clone, home);
  assert.match(first.stderr, /^Installing dependencies \(first run\) …$/m);

  const second = await serveUntilInterrupted(clone, home);
  assert.doesNotMatch(second.stderr, /Installing/);
});
