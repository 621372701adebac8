import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  mkdtempDisposableSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { makeFolder } from "../file/path.ts";

import { isInside, realPath } from "./path.ts";

describe("realPath", () => {
  it("follows links, also above a path that does not exist yet", () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "trunkline-path-")));
    using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
    mkdirSync(join(folder, "real"));
    symlinkSync("real", join(folder, "link"));
    assert.equal(realPath(join(folder, "link")), join(folder, "real"));
    assert.equal(realPath(join(folder, "link/new/deep")), join(folder, "real/new/deep"));
    assert.equal(realPath(join(folder, "none/../real")), join(folder, "real"));
    assert.equal(realPath("/"), "/");
    assert.equal(realPath("/none/at/all"), "/none/at/all");
    symlinkSync("loop", join(folder, "loop"));
    assert.equal(realPath(join(folder, "link/../loop/in/it")), join(folder, "loop/in/it"));
  });

  it("looks at no part of a path below the first that is not there, however many there are", (t) => {
    const { mock } = t.mock.method(realpathSync, "native");
    const path = "/none".repeat(20_000);
    assert.equal(realPath(path), path);
    assert.equal(mock.callCount(), 2);
  });
});

describe("isInside", () => {
  it("compares whole path segments", () => {
    assert(isInside("/srv", "/srv"));
    assert(isInside("/srv/a/b", "/srv"));
    assert(isInside("/anything", "/"));
    assert(!isInside("/srvant", "/srv"));
    assert(!isInside("/", "/srv"));
  });
});

const temporary = () => mkdtempDisposableSync(join(tmpdir(), "trunkline-folder-"));

describe("makeFolder()", () => {
  it("creates all missing folders, with their mode, and returns the first", () => {
    using home = temporary();
    const [first, last] = [join(home.path, "a"), join(home.path, "a/b/c")];
    assert.equal(makeFolder(last, 0o700), first);
    for (const folder of [first, last]) assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.equal(makeFolder(last), undefined);
    assert.equal(makeFolder("/"), undefined);
  });

  it("throws if a file or a dangling link is in the way", () => {
    using home = temporary();
    writeFileSync(join(home.path, "file"), "");
    symlinkSync("nowhere", join(home.path, "link"));
    assert.throws(() => makeFolder(join(home.path, "file")), { code: "EEXIST" });
    assert.throws(() => makeFolder(join(home.path, "file/a/b")), { code: "ENOTDIR" });
    assert.throws(() => makeFolder(join(home.path, "link/a")), { code: "EEXIST" });
  });

  const noProc = process.platform === "linux" ? false : "there is no /proc";
  it("throws in a file system that cannot create folders, such as /proc", { skip: noProc }, () => {
    for (const folder of ["/proc/nope", "/proc/nope/deep/er", "/proc/self/x"]) {
      assert.throws(() => makeFolder(folder), { code: "ENOENT" }, folder);
    }
  });
});
