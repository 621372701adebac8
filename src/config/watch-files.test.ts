import assert from "node:assert/strict";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, it } from "node:test";

import { until } from "../../test/support/until.ts";
import { watchFiles } from "./watch-files.ts";

/** Watches until disposed of, and tells of each change. */
function watching(files: readonly string[]): Disposable & { next(): Promise<void>; count: number } {
  let heard = Promise.withResolvers<void>();
  // The watch alone keeps no process alive.
  const alive = setInterval(() => {}, 1000);
  const watcher = {
    count: 0,
    async next() {
      await heard.promise;
      heard = Promise.withResolvers();
    },
    [Symbol.dispose]() {
      clearInterval(alive);
      stop();
    },
  };
  const stop = watchFiles(files, () => {
    watcher.count++;
    heard.resolve();
  });
  return watcher;
}

describe("watchFiles()", { timeout: 600_000 }, () => {
  it("reports a change between the call and the start of the watch, and a replaced file", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-watch-"));
    const file = join(folder.path, "a");
    writeFileSync(file, "1");
    using watcher = watching([file, join(folder.path, "missing/b")]);
    writeFileSync(file, "2");
    await watcher.next();
    writeFileSync(`${file}.new`, "3");
    renameSync(`${file}.new`, file);
    await watcher.next();
  });

  it("reports a file in a folder that is created after the watch has begun", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-watch-"));
    const file = join(folder.path, "config/trunkline/a");
    using watcher = watching([file]);
    await sleep(400);
    writeFileSync(join(folder.path, "other"), "1");
    mkdirSync(join(folder.path, "config"));
    await sleep(50);
    mkdirSync(join(folder.path, "config/trunkline"));
    writeFileSync(file, "1");
    await watcher.next();
    writeFileSync(file, "2");
    await watcher.next();
  });

  it("goes on when the folder is removed and created again", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-watch-"));
    const inside = join(folder.path, "config/trunkline");
    const file = join(inside, "a");
    mkdirSync(inside, { recursive: true });
    writeFileSync(file, "1");
    using watcher = watching([file]);
    await watcher.next();
    for (const text of ["2", "3"]) {
      rmSync(join(folder.path, "config"), { recursive: true });
      await watcher.next();
      mkdirSync(inside, { recursive: true });
      writeFileSync(file, text);
      await watcher.next();
    }
    writeFileSync(file, "4");
    await watcher.next();
  });

  it("reports a file in a folder that is removed, or moved away, and created again", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-watch-"));
    const inner = join(folder.path, ".trunkline");
    const file = join(inner, "a");
    mkdirSync(inner);
    writeFileSync(file, "1");
    using watcher = watching([file]);
    writeFileSync(file, "2");
    await watcher.next();
    for (const leave of [
      () => rmSync(inner, { recursive: true }),
      () => renameSync(inner, `${inner}.old`),
    ]) {
      leave();
      await sleep(300);
      const { count } = watcher;
      mkdirSync(inner);
      writeFileSync(file, "3");
      await until(() => watcher.count !== count);
    }
  });

  it("reports a file that never rests", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-watch-"));
    const file = join(folder.path, "a");
    using watcher = watching([file]);
    const writing = setInterval(() => writeFileSync(file, String(performance.now())), 5);
    try {
      for (let times = 0; times < 2; times++) await watcher.next();
    } finally {
      clearInterval(writing);
    }
  });

  it("reports no other file in the folder, and nothing after it is stopped", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-watch-"));
    const [file, other] = [join(folder.path, "a"), join(folder.path, "b")];
    mkdirSync(folder.path, { recursive: true });
    let count: () => number;
    {
      using watcher = watching([file]);
      writeFileSync(other, "1");
      writeFileSync(file, "1");
      await watcher.next();
      writeFileSync(other, "2");
      await sleep(200);
      assert.equal(watcher.count, 1);
      count = () => watcher.count;
    }
    writeFileSync(file, "2");
    await sleep(200);
    assert.equal(count(), 1);
  });
});
