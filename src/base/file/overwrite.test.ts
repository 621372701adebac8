import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { realpathSync } from "node:fs";
import {
  chmod,
  link,
  mkdir,
  mkdtempDisposable,
  open,
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
import { overwrite, writeOver } from "./overwrite.ts";

const temporary = () => mkdtempDisposable(join(realpathSync(tmpdir()), "trunkline-overwrite-"));
const SHORT = "kürzer";
const OLD = "was there before";
const LONG = "a longer text ".repeat(1_000);

describe("writeOver()", () => {
  it("writes new files, and longer, shorter and empty texts over old ones", async () => {
    await using folder = await temporary();
    const path = join(folder.path, "file");
    for (const text of [OLD, LONG, SHORT, "", LONG]) {
      await writeOver(path, text, [folder.path]);
      assert.equal(await readFile(path, "utf8"), text);
    }
  });

  it("keeps the file itself: its mode and its other names", async () => {
    await using folder = await temporary();
    const path = join(folder.path, "file");
    await writeFile(path, OLD);
    await chmod(path, 0o751);
    await link(path, join(folder.path, "other"));
    await writeOver(path, SHORT, [folder.path]);
    assert.equal(await readFile(join(folder.path, "other"), "utf8"), SHORT);
    assert.equal((await stat(path)).mode & 0o777, 0o751);
  });

  it("does not follow a link", async () => {
    await using folder = await temporary();
    await writeFile(join(folder.path, "file"), OLD);
    for (const target of ["file", "none"]) {
      await symlink(target, join(folder.path, `to-${target}`));
      const path = join(folder.path, `to-${target}`);
      await assert.rejects(writeOver(path, SHORT, [folder.path]), { code: "ELOOP" });
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
    await assert.rejects(writeOver(join(project, "sub/file"), SHORT, [project]), /leads out/);
    assert.equal(await readFile(join(outside, "file"), "utf8"), OLD);
    await mkdir(join(project, ".git"));
    await writeFile(join(project, ".git/config"), OLD);
    await symlink(".git", join(project, "src"));
    await assert.rejects(writeOver(join(project, "src/config"), SHORT, [project]), /leads out/);
    assert.equal(await readFile(join(project, ".git/config"), "utf8"), OLD);
    execFileSync("mkfifo", [join(project, "pipe")]);
    await assert.rejects(writeOver(join(project, "pipe"), SHORT, [project]), /not a regular file/);
  });

  it("leaves the old text, and no new file, where the disk is full", async () => {
    await using folder = await temporary();
    const path = join(folder.path, "file");
    await writeFile(path, OLD);
    using disk = new DiskFaults(folder.path);
    disk.decide = ({ operation }) => (operation === "write" ? "ENOSPC" : undefined);
    await assert.rejects(writeOver(path, LONG, [folder.path]), { code: "ENOSPC" });
    await assert.rejects(writeOver(join(folder.path, "new"), LONG, [folder.path]), {
      code: "ENOSPC",
    });
    assert.equal(await readFile(path, "utf8"), OLD);
    assert.deepEqual(await readdir(folder.path), ["file"]);
  });
});

describe("overwrite()", () => {
  it("takes back what a disk took of the text before it was full", async () => {
    await using folder = await temporary();
    const path = join(folder.path, "file");
    await writeFile(path, OLD);
    await using file = await open(path, "r+");
    const write = file.write.bind(file) as (...args: unknown[]) => Promise<unknown>;
    let isFull = false;
    const some = async (bytes: Buffer, from: number, length: number, at: number) => {
      if (isFull) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      isFull = true;
      return await write(bytes, from, Math.min(length, 7), at);
    };
    Object.assign(file, { write: some });
    await assert.rejects(overwrite(file, LONG), { code: "ENOSPC" });
    assert.equal(await readFile(path, "utf8"), OLD);
  });
});
