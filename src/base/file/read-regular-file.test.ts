import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  mkdtempDisposableSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { leadsInside, readRegularFile } from "./read-regular-file.ts";

describe("readRegularFile()", () => {
  it("reads a file up to its limit, and returns undefined if there is none", () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-read-"));
    const path = join(folder.path, "a");
    assert.equal(readRegularFile(path, { most: 10 }), undefined);
    assert.equal(readRegularFile(join(path, "b"), { most: 10 }), undefined);
    writeFileSync(path, "0123456789");
    assert.equal(readRegularFile(path, { most: 10 })?.toString(), "0123456789");
    appendFileSync(path, "x");
    assert.throws(
      () => readRegularFile(path, { most: 10 }),
      /its 11 bytes are over the limit of 10/,
    );
    writeFileSync(path, "");
    assert.equal(readRegularFile(path, { most: 10 })?.length, 0);
  });

  it("does not wait for a pipe, nor read a folder or a device", () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-read-"));
    const pipe = join(folder.path, "pipe");
    execFileSync("mkfifo", [pipe]);
    for (const followsLinks of [true, false]) {
      const options = { most: 10, followsLinks };
      assert.throws(() => readRegularFile(pipe, options), /it is not a regular file/);
      assert.throws(() => readRegularFile("/dev/zero", options), /it is not a regular file/);
      assert.throws(() => readRegularFile(folder.path, options), /it is a folder/);
    }
  });

  it("follows a link only if asked to", () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-read-"));
    const [path, link] = [join(folder.path, "a"), join(folder.path, "link")];
    writeFileSync(path, "text");
    symlinkSync(path, link);
    assert.equal(readRegularFile(link, { most: 10 })?.toString(), "text");
    assert.throws(() => readRegularFile(link, { most: 10, followsLinks: false }), /it is a link/);
  });

  it("reads nothing that a link leads out of the project, at the end of the path or on it", () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-read-"));
    const [project, outside] = [join(folder.path, "project"), join(folder.path, "outside")];
    mkdirSync(join(project, "real"), { recursive: true });
    mkdirSync(outside);
    writeFileSync(join(project, "real/a"), "mine");
    writeFileSync(join(outside, "a"), "secret");
    symlinkSync(join(outside, "a"), join(project, "link"));
    symlinkSync(outside, join(project, "folder"));
    symlinkSync("real", join(project, "within"));
    symlinkSync(project, join(folder.path, "other-name"));
    const read = (path: string, inside = project) =>
      readRegularFile(path, { most: 10, inside: [inside] })?.toString();
    assert.throws(() => read(join(project, "link")), /leads out of the project/);
    assert.throws(() => read(join(project, "folder/a")), /leads out of the project/);
    assert.throws(() => read(join(project, "../outside/a")), /leads out of the project/);
    assert.equal(read(join(project, "within/a")), "mine");
    assert.equal(read(join(project, "real/a"), join(folder.path, "other-name")), "mine");
    assert.equal(read(join(project, "none")), undefined);
  });

  it("compares what it has opened, since a folder may become a link in the meantime", () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-read-"));
    const [inside, outside] = [join(folder.path, "in"), join(folder.path, "out")];
    mkdirSync(inside);
    writeFileSync(join(inside, "a"), "mine");
    writeFileSync(outside, "secret");
    // As if `outside` had been opened through a link that is gone by now.
    assert.equal(leadsInside(join(inside, "a"), statSync(outside), [inside]), false);
    assert.equal(leadsInside(join(inside, "a"), statSync(join(inside, "a")), [inside]), true);
  });

  it("limits a file that reports no size", { skip: process.platform !== "linux" }, () => {
    assert.ok((readRegularFile("/proc/self/status", { most: 1e6 })?.length ?? 0) > 100);
    assert.throws(() => readRegularFile("/proc/self/status", { most: 10 }), /over the limit of 10/);
  });
});
