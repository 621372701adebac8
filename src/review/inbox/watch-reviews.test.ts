import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { Reviews } from "../../store/review/reviews.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { watchFolder } from "./watch-folder.ts";
import { watchReviews } from "./watch-reviews.ts";

const REPOSITORY = { gitDir: "/x/.git", root: "/x" };

test("watchReviews() lets everything be seen that is written, in a folder that is made later", async () => {
  await using folder = await SampleFolder.create();
  const seen: string[] = [];
  let reader: Reviews | undefined;
  let looking: Promise<void> = Promise.resolve();
  const stop = watchReviews(folder.path, () => {
    looking = looking.then(async () => {
      reader ??= await Reviews.open(folder.path);
      const messages = await reader.messagesAfter(0);
      for (const { text } of messages.slice(seen.length)) seen.push(text);
    });
  });
  // Nothing that is watched keeps a process waiting.
  const alive = setInterval(() => {}, 1000);
  for (let n = 0; n < 20; n++) {
    {
      using writer = await Reviews.open(folder.path);
      const anchor = { path: "a", side: "new" } as const;
      const thread = { repository: REPOSITORY, anchor, comment: `${n}`, by: "a", source: "t" };
      await writer.add({ ...thread, severity: "nit" });
    }
    while (seen.length <= n) await delay(1);
  }
  clearInterval(alive);
  stop();
  await looking;
  reader?.[Symbol.dispose]();
  assert.equal(seen.length, 20);
});

test(
  "watchFolder() goes on when its folder is taken away and made again",
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
