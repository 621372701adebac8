import assert from "node:assert/strict";
import { chmodSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { checkData, openData } from "./data-folder.ts";

const isRoot =
  process.getuid?.() === 0 ? "root may write everywhere: run the tests as another user" : false;
const noProc = process.platform === "linux" ? false : "only Linux has /proc";

describe("openData()", () => {
  it("creates the folder and its parents, for its owner alone", async () => {
    await using root = await mkdtempDisposable(join(tmpdir(), "trunkline-data-"));
    const folder = join(root.path, "a/b");
    openData(folder);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    openData(folder);
  });

  it("says why it cannot, and how to choose another folder", async () => {
    await using root = await mkdtempDisposable(join(tmpdir(), "trunkline-data-"));
    writeFileSync(join(root.path, "file"), "");
    const folder = join(root.path, "file/data");
    assert.throws(() => openData(folder), {
      code: "config",
      message: /^Cannot keep state in '.*file\/data': .* Choose another with --data/,
    });
  });

  it("refuses a folder that can be read but not written", { skip: isRoot }, async () => {
    await using root = await mkdtempDisposable(join(tmpdir(), "trunkline-data-"));
    chmodSync(root.path, 0o500);
    assert.throws(() => openData(root.path), /permission denied/);
    chmodSync(root.path, 0o700);
  });
});

describe("checkData()", { skip: noProc }, () => {
  it("refuses a folder in a virtual file system of the kernel", async () => {
    await using root = await mkdtempDisposable(join(tmpdir(), "trunkline-data-"));
    const link = join(root.path, "link");
    symlinkSync("/proc", link);
    for (const folder of ["/proc", "/proc/x/y", join(link, "x")]) {
      assert.throws(() => checkData(folder), { code: "config" }, folder);
    }
    checkData(join(root.path, "proc/x"));
  });
});
