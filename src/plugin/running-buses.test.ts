import assert from "node:assert/strict";
import { mkdtempDisposable, mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { FileLock } from "../store/file-lock.ts";
import { noteBus, runningBuses } from "./running-buses.ts";

const BUS = { address: "quic://127.0.0.1:1", certsDir: "/certs", pid: 7, since: 1 };

describe("runningBuses()", () => {
  it("finds the buses whose folder is locked, the newest first", async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-buses-"));
    const add = async (name: string, since: number): Promise<FileLock> => {
      const folder = join(home.path, name);
      await mkdir(folder);
      await noteBus(folder, { ...BUS, since });
      return FileLock.take(join(folder, "lock"));
    };
    using _one = await add("one", 1);
    using _two = await add("two", 2);
    (await add("ended", 3))[Symbol.dispose]();
    const found = runningBuses(home.path, "lock");
    assert.deepEqual(found, [{ ...BUS, since: 2 }, BUS]);
  });

  it("passes over a folder without a note, and one whose note cannot be read", async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-buses-"));
    assert.deepEqual(runningBuses(join(home.path, "missing"), "lock"), []);
    for (const [name, note] of [["half", '{"addr'], ["other", "{}"], ["bare"]] as const) {
      await mkdir(join(home.path, name));
      if (note !== undefined) await writeFile(join(home.path, name, ".bus.json"), note);
    }
    using _half = await FileLock.take(join(home.path, "half/lock"));
    using _other = await FileLock.take(join(home.path, "other/lock"));
    using _bare = await FileLock.take(join(home.path, "bare/lock"));
    assert.deepEqual(runningBuses(home.path, "lock"), []);
  });
});
