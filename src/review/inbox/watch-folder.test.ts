import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
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
      while (calls.length === 0) await delay(1);
      rmSync(folder.path, { recursive: true });
      await delay(20);
    }
    clearInterval(alive);
    stop();
  },
);
