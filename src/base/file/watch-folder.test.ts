import assert from "node:assert/strict";
import fs, { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { until } from "../../../test/support/until.ts";
import { watchFolder } from "./watch-folder.ts";

test(
  "watchFolder() continues when its folder is removed and created again",
  { timeout: 10_000 },
  async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "deep/er");
    const calls: unknown[] = [];
    const stop = watchFolder(path, (name) => calls.push(name));
    const alive = setInterval(() => {}, 1000);
    for (let round = 0; round < 3; round++) {
      calls.length = 0;
      mkdirSync(path, { recursive: true });
      await until(() => calls.length > 0);
      rmSync(folder.path, { recursive: true });
      await delay(20);
    }
    clearInterval(alive);
    stop();
  },
);

test("watchFolder() watches a folder that was replaced at once by another of its name", async () => {
  await using folder = await SampleFolder.create();
  const path = join(folder.path, "inbox");
  mkdirSync(path, { recursive: true });
  const calls: unknown[] = [];
  const stop = watchFolder(path, (name) => calls.push(name));
  const alive = setInterval(() => {}, 1000);
  for (let round = 0; round < 3; round++) {
    rmSync(path, { recursive: true });
    mkdirSync(path);
    // Whoever asks then what is in it, sees what was there before it was watched.
    await until(() => calls.includes(undefined));
    calls.length = 0;
    writeFileSync(join(path, "a"), "x");
    await until(() => calls.includes("a"));
    calls.length = 0;
  }
  clearInterval(alive);
  stop();
});

test(
  "watchFolder() waits for its folder whatever else is written beside it",
  { timeout: 10_000 },
  async (t) => {
    await using folder = await SampleFolder.create();
    mkdirSync(folder.path);
    const { mock } = t.mock.method(fs, "watch");
    syncBuiltinESMExports();
    const path = join(folder.path, "deep/er");
    const calls: unknown[] = [];
    const stop = watchFolder(path, (name) => calls.push(name));
    // Told of the same changes, and later.
    const seen: unknown[] = [];
    const other = fs.watch(folder.path, (_, name) => seen.push(name));
    t.after(() => {
      other.close();
      stop();
      t.mock.restoreAll();
      syncBuiltinESMExports();
    });
    const begun = mock.callCount();
    for (const name of ["one", "two"]) writeFileSync(join(folder.path, name), "x");
    await until(() => seen.includes("two"));
    await delay(1);
    assert.deepEqual([mock.callCount(), calls], [begun, []]);
    mkdirSync(path, { recursive: true });
    await until(() => calls.length > 0);
  },
);
