import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { SampleFolder } from "../../test/samples/sample-folder.ts";
import { SmallDisk } from "../../test/support/small-disk.ts";
import { Database } from "./database.ts";
import { FileLock } from "./file-lock.ts";

const run = promisify(execFile);
const moduleOf = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);
const STEPS = ["CREATE TABLE t (n INTEGER) STRICT"];

/** A program that opens a database after something happened to it, and prints why it cannot. */
function opening(path: string, before: string): readonly [string, ...string[]] {
  const script = `
    import { writeFileSync } from "node:fs";
    const { Database } = await import(${moduleOf("database.ts")});
    const { isDiskFull } = await import(${moduleOf("../base/errors.ts")});
    const open = () => Database.open(${JSON.stringify(path)}, ${JSON.stringify(STEPS)});
    ${before}
    const error = await open().catch((error) => error);
    console.log(JSON.stringify([error.code, error.message, isDiskFull(error)]));`;
  return [process.execPath, "--input-type=module", "--eval", script];
}

describe("what is said if SQLite cannot use a file", { timeout: 60_000 }, () => {
  it("names the full disk also where SQLite reports an I/O error", async (test) => {
    const { missing } = SmallDisk;
    if (missing !== undefined) return test.skip(missing);
    using disk = new SmallDisk("1m");
    const path = join(disk.path, "x.db");
    const ballast = JSON.stringify(join(disk.path, "ballast"));
    const [command, ...args] = opening(
      path,
      `(await open())[Symbol.dispose]();
      try { writeFileSync(${ballast}, Buffer.alloc(2 << 20)); } catch {}`,
    );
    const { stdout } = await run("env", [...disk.within, command, ...args]);
    const why = "database or disk is full. Free some space on its disk, and try again.";
    assert.deepEqual(JSON.parse(stdout), ["unavailable", `Cannot open '${path}': ${why}`, true]);
  });

  it("names the file that may not be written, and leaves nothing behind", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "x.db");
    using database = await Database.open(path, STEPS);
    await database.change((sqlite) => sqlite.exec("INSERT INTO t VALUES (1)"));
    let become = "";
    if (process.getuid?.() === 0) {
      // Root may write whatever the mode says.
      await run("chmod", ["-R", "a+rwX", dirname(folder.path)]);
      await run("chown", ["-R", "65534", folder.path]);
      become = "process.setgid(65534); process.setuid(65534);";
    }
    await chmod(`${path}-shm`, 0);
    const [command, ...args] = opening(path, become);
    const { stdout } = await run(command, args);
    const why = `permission denied: '${path}-shm'`;
    assert.deepEqual(JSON.parse(stdout), ["unavailable", `Cannot open '${path}': ${why}`, false]);
    assert.deepEqual(await readdir(folder.path), ["x.db", "x.db-shm", "x.db-wal"]);
  });

  it("says that a folder is where the file should be", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "x.db");
    await mkdir(path, { recursive: true });
    await assert.rejects(Database.open(path, STEPS), {
      message: `Cannot open '${path}': it is a folder`,
    });
    await assert.rejects(FileLock.take(path), { message: `Cannot lock '${path}': it is a folder` });
  });

  it("says that the folder of a lock is missing", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "none/lock");
    await assert.rejects(FileLock.take(path), {
      message: `Cannot lock '${path}': no such file or directory: '${dirname(path)}'`,
    });
  });
});
