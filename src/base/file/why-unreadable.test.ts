import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { whyUnreadable } from "./why-unreadable.ts";

function whyOf(path: string): string {
  try {
    readFileSync(path);
  } catch (error) {
    return whyUnreadable(error);
  }
  return assert.fail("it was read");
}

test("whyUnreadable() says what is there instead of a file", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-unreadable-"));
  writeFileSync(join(folder.path, "file"), "");
  assert.equal(whyOf(folder.path), "it is a folder");
  assert.equal(whyOf(join(folder.path, "none")), "no such file");
  assert.equal(whyOf(join(folder.path, "file", "none")), "no such file");
});

test("whyUnreadable() keeps the words of any other reason", () => {
  assert.equal(whyUnreadable(new Error("it is too large")), "it is too large");
  const denied = Object.assign(new Error("EACCES: permission denied, open"), { code: "EACCES" });
  assert.equal(whyUnreadable(denied), "permission denied");
});
