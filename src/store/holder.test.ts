import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readdir, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { HoldingProcess } from "../../test/support/holding-process.ts";
import { Holder, HOLDERS } from "./holder.ts";
import { SampleFolder } from "../../test/samples/sample-folder.ts";
import { SessionLog } from "./session/session-log.ts";

const MODULE = JSON.stringify(new URL("holder.ts", import.meta.url).href);

/** What another process says of a holder. */
async function isAliveElsewhere(folder: string, id: string): Promise<boolean> {
  const script = `
    const { Holder } = await import(${MODULE});
    console.log(Holder.at(${JSON.stringify(folder)}).isAlive(${JSON.stringify(id)}));`;
  const args = ["--input-type=module", "-e", script];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout === "true\n";
}

describe("Holder", { timeout: 60_000 }, () => {
  it("is shared by all users in a process, and lives until the last is done", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(folder.path);
    const link = join(dirname(folder.path), "link");
    await symlink(folder.path, link);
    const path = join(folder.path, HOLDERS);
    const one = Holder.at(path);
    const other = Holder.at(join(link, HOLDERS));
    assert.equal(one.known, undefined);
    const { id } = one;
    assert.equal(other.id, id);
    assert.ok(one.isAlive(id) && (await isAliveElsewhere(path, id)));
    one[Symbol.dispose]();
    // Whatever was looked at or closed here, the lock is still there.
    assert.ok(other.isAlive(id) && (await isAliveElsewhere(path, id)));
    other[Symbol.dispose]();
    assert.equal(await isAliveElsewhere(path, id), false);
    assert.deepEqual(await readdir(folder.path), []);
    using again = Holder.at(path);
    assert.notEqual(again.id, id);
  });

  it("finds a killed process dead, and removes its files", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, HOLDERS);
    {
      await using log = await SessionLog.open(folder.path);
      await log.release((await log.create({ id: "s", cwd: "/", agent: "x", notes: {} })).key);
    }
    let lock = "";
    using onlooker = Holder.at(path);
    {
      await using _process = await HoldingProcess.start(folder.path, "s");
      [lock = ""] = await readdir(path);
      assert.equal(onlooker.isAlive(lock.replace(".lock", "")), true);
    }
    await writeFile(join(path, "1-new.new"), "");
    await writeFile(join(path, "1-old.new"), "");
    await utimes(join(path, "1-old.new"), 1, 1);
    // It may have been found alive in this very turn of the event loop.
    await new Promise(setImmediate);
    assert.equal(onlooker.isAlive(lock.replace(".lock", "")), false);
    const { id } = onlooker;
    assert.deepEqual((await readdir(path)).toSorted(), ["1-new.new", `${id}.lock`].toSorted());
  });

  it("considers no id alive that never had a lock, or that is not ours", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(folder.path);
    using holder = Holder.at(join(folder.path, HOLDERS));
    for (const id of ["", "host 1 2", "../../x", `1-${crypto.randomUUID()}`]) {
      assert.equal(holder.isAlive(id), false, id);
    }
  });
});
