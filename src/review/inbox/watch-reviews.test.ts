import assert from "node:assert/strict";
import { test } from "node:test";

import { Reviews } from "../../store/review/reviews.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { until } from "../../../test/support/until.ts";
import { watchReviews } from "./watch-reviews.ts";

const REPOSITORY = { gitDir: "/x/.git", root: "/x" };

test("watchReviews() reports everything that is written, in a folder that is created later", async () => {
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
    await until(() => seen.length > n);
  }
  clearInterval(alive);
  stop();
  await looking;
  reader?.[Symbol.dispose]();
  assert.equal(seen.length, 20);
});
