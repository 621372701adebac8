import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { isInside, realPath } from "./real-path.ts";

describe("realPath", () => {
  it("follows links, also above what is not there yet", () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "trunkline-path-")));
    using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
    mkdirSync(join(folder, "real"));
    symlinkSync("real", join(folder, "link"));
    assert.equal(realPath(join(folder, "link")), join(folder, "real"));
    assert.equal(realPath(join(folder, "link/new/deep")), join(folder, "real/new/deep"));
    assert.equal(realPath(join(folder, "none/../real")), join(folder, "real"));
    assert.equal(realPath("/"), "/");
  });
});

describe("isInside", () => {
  it("goes by whole steps of the path", () => {
    assert(isInside("/srv", "/srv"));
    assert(isInside("/srv/a/b", "/srv"));
    assert(isInside("/anything", "/"));
    assert(!isInside("/srvant", "/srv"));
    assert(!isInside("/", "/srv"));
  });
});
