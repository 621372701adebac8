import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { describe, it } from "node:test";

import { SampleFolder } from "../../test/samples/sample-folder.ts";
import type { TaskRecord } from "../tool/task-record.ts";
import { TaskRecords } from "./task-records.ts";

const MODULE = JSON.stringify(new URL("task-records.ts", import.meta.url).href);

function task(id: string, more: Partial<TaskRecord> = {}): TaskRecord {
  const now = new Date().toISOString();
  const times = { createdAt: now, lastUpdatedAt: now };
  return { id, owner: "me", ttl: null, status: "working", ...times, ...more };
}

describe("TaskRecords", { timeout: 600_000 }, () => {
  it("keeps the result of a task for a while, or for as long as its client asks", async () => {
    await using folder = await SampleFolder.create();
    let now = Date.now();
    using records = await TaskRecords.open(folder.path, () => now);
    await records.begin(task("a"));
    await records.begin(task("b", { ttl: 60_000 }));
    now += 24 * 60 * 60_000;
    assert.equal((await records.find("a"))?.status, "working");
    now = Date.now();
    const done = { status: "completed", result: { content: [] } } as const;
    await records.end(task("a", done));
    await records.end(task("b", { ttl: 60_000, ...done }));
    assert.deepEqual((await records.find("a"))?.result, { content: [] });
    now += 59_000;
    assert.equal((await records.find("b"))?.status, "completed");
    now += 2_000;
    assert.equal(await records.find("b"), undefined);
    assert.equal((await records.find("a"))?.status, "completed");
    now += 60 * 60_000;
    assert.equal(await records.find("a"), undefined);
    assert.equal(await records.find("nobody's"), undefined);
  });

  it("treats a task whose process was killed as failed, and leaves running ones alone", async () => {
    await using folder = await SampleFolder.create();
    using records = await TaskRecords.open(folder.path);
    const script = `
      const { TaskRecords } = await import(${MODULE});
      const records = await TaskRecords.open(${JSON.stringify(folder.path)});
      await records.begin(${JSON.stringify(task("theirs"))});
      console.log("begun");
      setInterval(() => records, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    await records.begin(task("ours"));
    assert.equal((await records.find("theirs"))?.status, "working");
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
    for (let round = 0; round < 2; round++) {
      const { status, error } = (await records.find("theirs")) ?? {};
      assert.equal(status, "failed");
      assert.match(error?.message ?? "", /was restarted while the task was working/);
      // That is stored with the next.
      await records.begin(task(`another ${round}`));
    }
    assert.equal((await records.find("ours"))?.status, "working");
  });

  it("has a task that goes on elsewhere taken over by one process, while it is to be kept", async () => {
    await using folder = await SampleFolder.create();
    let now = Date.now();
    using records = await TaskRecords.open(folder.path, () => now);
    const remote = { tool: "slow", server: "far", taskId: "there-1" };
    const script = `
      const { TaskRecords } = await import(${MODULE});
      const records = await TaskRecords.open(${JSON.stringify(folder.path)});
      await records.begin(${JSON.stringify(task("kept", { remote }))});
      await records.begin(${JSON.stringify(task("short", { ttl: 60_000 }))});
      await records.goesOn("short", ${JSON.stringify(remote)});
      console.log("begun");
      setInterval(() => records, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    assert.equal((await records.find("kept"))?.isLost, undefined);
    assert.equal(await records.adopt("kept"), false);
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
    await records.begin(task("another"));
    for (const id of ["kept", "short"]) {
      const { status, isLost, remote: found } = (await records.find(id)) ?? {};
      assert.deepEqual([status, isLost, found], ["working", true, remote]);
    }
    assert.equal(await records.adopt("kept"), true);
    assert.equal(await records.adopt("kept"), false);
    assert.equal((await records.find("kept"))?.isLost, undefined);
    now += 61_000;
    assert.equal((await records.find("short"))?.status, "failed");
    await records.begin(task("one more"));
    assert.equal(await records.find("short"), undefined);
  });

  it("has a lost task taken over by one of several processes at once, and anew when that is killed", async () => {
    await using folder = await SampleFolder.create();
    using records = await TaskRecords.open(folder.path);
    const remote = { tool: "slow", server: "far", taskId: "there-1" };
    const begin = `begin(${JSON.stringify(task("kept", { remote }))})`;
    await using first = await Keeper.start(folder.path, begin);
    await first.kill();
    assert.equal((await records.find("kept"))?.isLost, true);
    await using second = await Keeper.start(folder.path);
    await using third = await Keeper.start(folder.path);
    const took = await Promise.all([second, third].map((each) => each.run(`adopt("kept")`)));
    assert.deepEqual(took.toSorted(), ["false", "true"]);
    assert.equal(await records.adopt("kept"), false);
    // It took the task over, and has stored nothing of it yet.
    for (const each of [second, third]) await each.kill();
    const found = await records.find("kept");
    assert.deepEqual([found?.status, found?.isLost, found?.remote], ["working", true, remote]);
    assert.equal(await records.adopt("kept"), true);
  });
});

/** Another process with the same store, which does what it is told. */
class Keeper implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;

  private constructor(folder: string) {
    const script = `
      const { createInterface } = await import("node:readline");
      const { TaskRecords } = await import(${MODULE});
      const records = await TaskRecords.open(${JSON.stringify(folder)});
      for await (const line of createInterface(process.stdin))
        console.log(String(await eval("records." + line)));`;
    this.#child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdout.setEncoding("utf8");
  }

  static async start(folder: string, first = `find("")`): Promise<Keeper> {
    const keeper = new Keeper(folder);
    await keeper.run(first);
    return keeper;
  }

  /** Calls a method of the records. Returns what it gave. */
  async run(code: string): Promise<string> {
    const said = once(this.#child.stdout, "data");
    this.#child.stdin.write(`${code}\n`);
    return String(await said).trim();
  }

  async kill(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exit;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
