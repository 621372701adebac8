import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { SampleFolder } from "../../test/samples/sample-folder.ts";
import { FileLock } from "./file-lock.ts";

const run = promisify(execFile);
const MODULE = JSON.stringify(new URL("file-lock.ts", import.meta.url).href);

/** Another process that has the lock of a folder, until it is killed. */
async function holder(folder: string): Promise<ChildProcess> {
  const script = `
    const { FileLock } = await import(${MODULE});
    globalThis.lock = await FileLock.take(${JSON.stringify(`${folder}/lock`)});
    console.log("taken");
    setInterval(() => {}, 1000);`;
  const args = ["--input-type=module", "-e", script];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return child;
}

describe("FileLock", { timeout: 30_000 }, () => {
  it("is released once, however often it is disposed of", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(folder.path);
    const path = `${folder.path}/lock`;
    const first = await FileLock.takeBrief(path);
    first[Symbol.dispose]();
    using _second = await FileLock.takeBrief(path);
    first[Symbol.dispose]();
    assert.ok(FileLock.isTaken(path));
  });

  it("is taken by one holder at a time, and leaves only an empty file", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(folder.path);
    const first = await FileLock.take(`${folder.path}/lock`);
    await assert.rejects(FileLock.take(`${folder.path}/lock`, 20), {
      code: "unavailable",
      message: `Cannot lock '${folder.path}/lock': another process has held it for 20 ms`,
    });
    const second = FileLock.take(`${folder.path}/lock`);
    first[Symbol.dispose]();
    (await second)[Symbol.dispose]();
    assert.deepEqual(await readdir(folder.path), ["lock"]);
    assert.equal((await stat(`${folder.path}/lock`)).size, 0);
  });

  it("leaves no file where that is there only while it is held", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(folder.path);
    const first = await FileLock.takeBrief(`${folder.path}/lock`);
    await assert.rejects(FileLock.takeBrief(`${folder.path}/lock`, 20), { code: "unavailable" });
    const second = FileLock.takeBrief(`${folder.path}/lock`);
    first[Symbol.dispose]();
    (await second)[Symbol.dispose]();
    assert.deepEqual(await readdir(folder.path), []);
  });

  it("is taken by one of many processes at a time, also where its file comes and goes", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(folder.path);
    const script = `
      import { rmdirSync, mkdirSync } from "node:fs";
      const { FileLock } = await import(${MODULE});
      for (let round = 0; round < 200; round++) {
        using lock = await FileLock.takeBrief(${JSON.stringify(`${folder.path}/lock`)}, 60_000);
        mkdirSync(${JSON.stringify(`${folder.path}/alone`)});
        if (round % 3 === 0) await new Promise(setImmediate);
        rmdirSync(${JSON.stringify(`${folder.path}/alone`)});
      }`;
    const args = ["--input-type=module", "-e", script];
    await Promise.all([1, 2, 3, 4].map(() => run(process.execPath, args)));
    assert.deepEqual(await readdir(folder.path), []);
  });

  it("belongs to another process until that is killed, and is free at once then", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(folder.path);
    const child = await holder(folder.path);
    await assert.rejects(FileLock.take(`${folder.path}/lock`, 20), { code: "unavailable" });
    child.kill("SIGKILL");
    await once(child, "exit");
    (await FileLock.take(`${folder.path}/lock`, 0))[Symbol.dispose]();
  });

  it("is not taken by a process without write permission, though it may seem so", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(folder.path);
    (await FileLock.take(`${folder.path}/lock`))[Symbol.dispose]();
    const isRoot = process.getuid?.() === 0;
    if (isRoot) await run("chmod", ["-R", "a+rX", dirname(folder.path)]);
    else await chmod(join(folder.path, "lock"), 0o444);
    const script = `
      const { FileLock } = await import(${MODULE});
      if (${isRoot}) process.setuid(65534);
      await FileLock.take(${JSON.stringify(`${folder.path}/lock`)}).catch((e) => console.log(e.message));`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script]);
    const why = `permission denied${isRoot ? `: '${folder.path}'` : ""}`;
    assert.equal(stdout, `Cannot lock '${folder.path}/lock': ${why}\n`);
  });
});
