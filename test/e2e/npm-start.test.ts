import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { serveUntilInterrupted } from "../support/npm-start.ts";

const ROOT = join(import.meta.dirname, "../..");

// In a fresh clone it installs and builds first: test/interop/fresh-clone.test.ts.
test(
  "npm start serves until Ctrl-C, and installs nothing twice",
  { timeout: 600_000 },
  async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-start-"));
    const { stderr } = await serveUntilInterrupted(ROOT, home.path);
    assert.doesNotMatch(stderr, /Installing|Building/);
  },
);
