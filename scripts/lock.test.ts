import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtempDisposable, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const LOCK = new URL("lock.mjs", import.meta.url).href;

/** Takes the lock and writes down when it begins and when it ends. */
const WORKER = `
  import { appendFileSync } from "node:fs";
  import { setTimeout } from "node:timers/promises";
  import { withLock } from "${LOCK}";
  const [, folder, log] = process.argv;
  await withLock(folder, async () => {
    appendFileSync(log, "begin\\n");
    await setTimeout(50);
    appendFileSync(log, "end\\n");
  });
`;

async function work(folder: string, log: string): Promise<void> {
  const args = ["--input-type=module", "--eval", WORKER, folder, log];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
  const [code] = await once(child, "exit");
  assert.equal(code, 0);
}

async function scene() {
  const folder = await mkdtempDisposable(join(tmpdir(), "trunkline-lock-"));
  const { path } = folder;
  const [lock, log] = [join(path, "lock"), join(path, "log")];
  return { path, lock, log, [Symbol.asyncDispose]: () => folder.remove() };
}

async function leaveLock(lock: string, owner: string, date = new Date()): Promise<void> {
  await mkdir(lock);
  await writeFile(join(lock, owner), "");
  await utimes(join(lock, owner), date, date);
}

test("withLock() lets one process work at a time and leaves nothing behind", async () => {
  await using at = await scene();
  await Promise.all([1, 2, 3, 4].map(() => work(at.lock, at.log)));
  assert.equal(await readFile(at.log, "utf8"), "begin\nend\n".repeat(4));
  assert.deepEqual(await readdir(at.path), ["log"]);
});

test("withLock() takes over a lock whose owner is dead, still one at a time", async () => {
  await using at = await scene();
  const dead = spawn(process.execPath, ["--version"], { stdio: "ignore" });
  await once(dead, "exit");
  await leaveLock(at.lock, `${hostname()}.${dead.pid}.some-id`);
  await Promise.all([1, 2, 3].map(() => work(at.lock, at.log)));
  assert.equal(await readFile(at.log, "utf8"), "begin\nend\n".repeat(3));
});

test("withLock() takes over a lock of another machine that has not been touched for long", async () => {
  await using at = await scene();
  await leaveLock(at.lock, "elsewhere.1.some-id", new Date(Date.now() - 60_000));
  await work(at.lock, at.log);
  assert.equal(await readFile(at.log, "utf8"), "begin\nend\n");
});

test("withLock() takes over a lock that was left half made", async () => {
  await using at = await scene();
  await mkdir(at.lock);
  await work(at.lock, at.log);
  assert.equal(await readFile(at.log, "utf8"), "begin\nend\n");
});
