import assert from "node:assert/strict";
import { chmodSync, mkdtempDisposableSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { Database } from "../../store/database.ts";
import { canBeUsed, checkDataFolder } from "./state-checks.ts";

describe("checkDataFolder()", () => {
  it("passes for a private folder, and leaves nothing in it", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
    const [found] = await checkDataFolder(folder.path);
    assert.deepEqual(found, { state: "ok", says: folder.path });
    assert.deepEqual(readdirSync(folder.path), []);
  });

  it("warns about a folder that others can read, with the command that fixes it", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
    chmodSync(folder.path, 0o755);
    const [found] = await checkDataFolder(folder.path);
    assert.equal(found?.state, "warn");
    assert.equal(found?.next, `Run: chmod 700 '${folder.path}'`);
  });

  it("fails for a folder that others can change, which the fix mends, and which works", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
    chmodSync(folder.path, 0o777);
    const findings = await checkDataFolder(folder.path);
    assert.equal(findings[0]?.state, "fail");
    assert.equal(canBeUsed(findings), true);
    await findings[0]?.fix?.apply();
    assert.equal((await checkDataFolder(folder.path))[0]?.state, "ok");
  });

  it("says that a path is too long for databases, and does not call them damaged", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
    const long = join(folder.path, ...Array<string>(10).fill("d".repeat(60)));
    const findings = await checkDataFolder(long);
    assert.match(findings[0]?.says ?? "", /its path has \d+ bytes, and databases need/);
    assert.equal(canBeUsed(findings), false);
    const opened = Database.open(join(long, "x.sqlite"), []);
    await assert.rejects(opened, /its path has \d+ bytes, and SQLite takes 500\. Choose a data/);
  });

  it("says that a folder will be created, however many levels are missing", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
    const [found] = await checkDataFolder(join(folder.path, "a/b/c"));
    assert.equal(found?.state, "ok");
    assert.match(found?.says ?? "", /will be created/);
    assert.deepEqual(readdirSync(folder.path), []);
  });

  it("fails for a file, and for a folder below a file", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
    const file = join(folder.path, "data");
    writeFileSync(file, "");
    const [own] = await checkDataFolder(file);
    assert.deepEqual([own?.state, own?.says], ["fail", `${file} is not a folder`]);
    const [below] = await checkDataFolder(join(file, "sub"));
    assert.equal(below?.state, "fail");
  });

  it("fails for a folder that not even root can write to, and says what to do", async (test) => {
    if (process.platform !== "linux") return test.skip("needs /proc, which only Linux has");
    const [found] = await checkDataFolder("/proc/self");
    assert.equal(found?.state, "fail");
    assert.match(found?.says ?? "", /^cannot use \/proc\/self: /);
    assert.match(found?.next ?? "", /--data/);
  });

  it("asks for space on a full disk", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
    using disk = new DiskFaults(folder.path);
    disk.decide = ({ operation }) => (operation === "writeFile" ? "ENOSPC" : undefined);
    const [found] = await checkDataFolder(folder.path);
    assert.equal(found?.state, "fail");
    assert.match(found?.next ?? "", /^Free some space on its disk, or: Choose another folder/);
  });
});
