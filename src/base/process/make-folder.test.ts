import assert from "node:assert/strict";
import { mkdtempDisposableSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { makeFolder } from "./make-folder.ts";

const temporary = () => mkdtempDisposableSync(join(tmpdir(), "trunkline-folder-"));

describe("makeFolder()", () => {
  it("makes all that is missing, with its mode, and tells the first", () => {
    using home = temporary();
    const [first, last] = [join(home.path, "a"), join(home.path, "a/b/c")];
    assert.equal(makeFolder(last, 0o700), first);
    for (const folder of [first, last]) assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.equal(makeFolder(last), undefined);
    assert.equal(makeFolder("/"), undefined);
  });

  it("throws where there is a file in the way, or a link to nothing", () => {
    using home = temporary();
    writeFileSync(join(home.path, "file"), "");
    symlinkSync("nowhere", join(home.path, "link"));
    assert.throws(() => makeFolder(join(home.path, "file")), { code: "EEXIST" });
    assert.throws(() => makeFolder(join(home.path, "file/a/b")), { code: "ENOTDIR" });
    assert.throws(() => makeFolder(join(home.path, "link/a")), { code: "EEXIST" });
  });

  const noProc = process.platform === "linux" ? false : "there is no /proc";
  it("throws where the system makes up what there is", { skip: noProc }, () => {
    for (const folder of ["/proc/nope", "/proc/nope/deep/er", "/proc/self/x"]) {
      assert.throws(() => makeFolder(folder), { code: "ENOENT" }, folder);
    }
  });
});
