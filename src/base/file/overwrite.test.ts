import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, existsSync, openSync, realpathSync, renameSync } from "node:fs";
import {
  chmod,
  link,
  mkdir,
  mkdtempDisposable,
  readdir,
  readFile,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { ChangedFileError, overwrite, writeOver } from "./overwrite.ts";

const temporary = () => mkdtempDisposable(join(realpathSync(tmpdir()), "trunkline-overwrite-"));
const SHORT = "kürzer";
const OLD = "was there before";
const LONG = "a longer text ".repeat(1_000);

describe("writeOver()", () => {
  it("writes new files, and longer, shorter and empty texts over old ones", async () => {
    await using folder = await temporary();
    const path = join(folder.path, "file");
    for (const text of [OLD, LONG, SHORT, "", LONG]) {
      writeOver(path, text, [folder.path]);
      assert.equal(await readFile(path, "utf8"), text);
    }
  });

  it("keeps the file itself: its mode and its other names", async () => {
    await using folder = await temporary();
    const path = join(folder.path, "file");
    await writeFile(path, OLD);
    await chmod(path, 0o751);
    await link(path, join(folder.path, "other"));
    writeOver(path, SHORT, [folder.path]);
    assert.equal(await readFile(join(folder.path, "other"), "utf8"), SHORT);
    assert.equal((await stat(path)).mode & 0o777, 0o751);
  });

  it("does not follow a link", async () => {
    await using folder = await temporary();
    await writeFile(join(folder.path, "file"), OLD);
    for (const target of ["file", "none"]) {
      await symlink(target, join(folder.path, `to-${target}`));
      const path = join(folder.path, `to-${target}`);
      assert.throws(() => writeOver(path, SHORT, [folder.path]), { code: "ELOOP" });
    }
    assert.equal(await readFile(join(folder.path, "file"), "utf8"), OLD);
    assert.deepEqual(await readdir(folder.path), ["file", "to-file", "to-none"]);
  });

  it("writes nothing through a folder that has become a link, nor to a pipe", async () => {
    await using folder = await temporary();
    const [project, outside] = [join(folder.path, "project"), join(folder.path, "outside")];
    await Promise.all([mkdir(project), mkdir(outside)]);
    await symlink(outside, join(project, "sub"));
    await writeFile(join(outside, "file"), OLD);
    assert.throws(() => writeOver(join(project, "sub/file"), SHORT, [project]), /leads out/);
    assert.equal(await readFile(join(outside, "file"), "utf8"), OLD);
    await mkdir(join(project, ".git"));
    await writeFile(join(project, ".git/config"), OLD);
    await symlink(".git", join(project, "src"));
    assert.throws(() => writeOver(join(project, "src/config"), SHORT, [project]), /leads out/);
    assert.equal(await readFile(join(project, ".git/config"), "utf8"), OLD);
    execFileSync("mkfifo", [join(project, "pipe")]);
    assert.throws(() => writeOver(join(project, "pipe"), SHORT, [project]), /not a regular file/);
  });

  it("leaves the old text, and no new file, where the disk is full", async () => {
    await using folder = await temporary();
    const path = join(folder.path, "file");
    await writeFile(path, OLD);
    using disk = new DiskFaults(folder.path);
    disk.decide = ({ operation }) => (operation === "writeSync" ? "ENOSPC" : undefined);
    assert.throws(() => writeOver(path, LONG, [folder.path]), { code: "ENOSPC" });
    assert.throws(() => writeOver(join(folder.path, "new"), LONG, [folder.path]), {
      code: "ENOSPC",
    });
    assert.equal(await readFile(path, "utf8"), OLD);
    assert.deepEqual(await readdir(folder.path), ["file"]);
  });
});

describe("writeOver() of what is expected", () => {
  it("writes only over that content, and creates only what is not there", async () => {
    await using folder = await temporary();
    const [path, fresh] = [join(folder.path, "file"), join(folder.path, "new")];
    await writeFile(path, OLD);
    const inside = [folder.path];
    writeOver(path, SHORT, inside, { content: Buffer.from(OLD) });
    writeOver(fresh, SHORT, inside, { content: undefined });
    for (const content of [Buffer.from(OLD), undefined]) {
      assert.throws(() => writeOver(path, LONG, inside, { content }), ChangedFileError);
      assert.throws(() => writeOver(fresh, LONG, inside, { content }), ChangedFileError);
    }
    const gone = join(folder.path, "gone");
    const expected = { content: Buffer.from(OLD) };
    assert.throws(() => writeOver(gone, LONG, inside, expected), ChangedFileError);
    assert.equal(await readFile(path, "utf8"), SHORT);
    assert.deepEqual(await readdir(folder.path), ["file", "new"]);
  });

  it("says so if the file was replaced while it was written, and keeps the other one", async () => {
    await using folder = await temporary();
    const [path, theirs] = [join(folder.path, "file"), join(folder.path, "theirs")];
    await Promise.all([writeFile(path, OLD), writeFile(theirs, "theirs")]);
    using disk = new DiskFaults(folder.path);
    disk.decide = ({ operation }) => {
      if (operation === "writeSync" && existsSync(theirs)) renameSync(theirs, path);
      return undefined;
    };
    const expected = { content: Buffer.from(OLD) };
    assert.throws(() => writeOver(path, LONG, [folder.path], expected), ChangedFileError);
    assert.equal(await readFile(path, "utf8"), "theirs");
  });
});

describe("overwrite()", () => {
  it("takes back what a disk took of the text before it was full", async () => {
    await using folder = await temporary();
    const path = join(folder.path, "file");
    await writeFile(path, OLD);
    using disk = new DiskFaults(folder.path);
    disk.decide = ({ operation }) => (operation === "writeSync" ? "torn" : undefined);
    const file = openSync(path, "r+");
    assert.throws(() => overwrite(file, LONG), { code: "ENOSPC" });
    closeSync(file);
    assert.equal(await readFile(path, "utf8"), OLD);
  });
});
