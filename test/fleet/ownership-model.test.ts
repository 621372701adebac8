import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { rounds } from "../support/full-run.ts";
import { explore } from "./model/explore.ts";
import type { Act } from "./model/world.ts";

const RANDOM = rounds({ few: 500, all: 120_000 });
const COURSES = rounds({ few: 70, all: 10_000 });
/** Runs within which a protocol with a hole must be found out. */
const FOUND_WITHIN = 1_000;

/** Another one each day. */
const DAY = Number(process.env["TRUNKLINE_FUZZ_SEED"] ?? Math.floor(Date.now() / 86_400_000));
const SEED = DAY * 1_000_000;

/** Short stories. Messages can take many courses in each, which are tried one after the other. */
const STORIES: Readonly<Record<string, readonly Act[]>> = {
  "a holder is replaced while it publishes": [
    [0, "append"],
    [1, "open"],
    [0, "append"],
    [1, "append"],
  ],
  "two workers take the session at once": [
    [0, "append"],
    [0, "crash"],
    [1, "open"],
    [2, "open"],
    [1, "append"],
    [2, "append"],
  ],
  "a paused holder wakes up": [
    [0, "append"],
    [0, "pause"],
    [1, "open"],
    [1, "append"],
    [0, "wake"],
    [0, "append"],
  ],
  "a holder crashes, and starts again on its data folder": [
    [0, "append"],
    [0, "append"],
    [0, "crash"],
    [0, "open"],
    [0, "append"],
  ],
  "a holder that starts again finds that another was faster": [
    [0, "append"],
    [0, "crash"],
    [1, "open"],
    [1, "append"],
    [1, "release"],
    [0, "open"],
  ],
};

describe("the protocol of who holds a session", () => {
  it(`has one holder and loses no event in ${RANDOM} runs by chance`, async () => {
    const explored = await explore({ omission: "nothing", count: RANDOM, seed: SEED });
    assert.deepEqual([explored.violation, explored.runs], [undefined, RANDOM]);
    // Otherwise nothing was shown.
    assert.ok(explored.acknowledged > RANDOM * 2, `${explored.acknowledged} events`);
  });

  for (const [story, script] of Object.entries(STORIES)) {
    it(`has one holder and loses no event when ${story}`, async () => {
      const { violation, runs } = await explore({ omission: "nothing", count: COURSES, script });
      assert.deepEqual([violation, runs], [undefined, COURSES]);
    });
  }

  it("is found out if messages are not refused after those of another holder", async () => {
    const explored = await explore({ omission: "sequence check", count: FOUND_WITHIN, seed: SEED });
    assert.match(explored.violation ?? "nothing", /follows|acknowledged as|instead of|and is/);
  });

  it("is found out if the ids of messages do not contain the epoch", async () => {
    const omission = "epoch in message ids";
    const explored = await explore({ omission, count: FOUND_WITHIN, seed: SEED });
    assert.match(explored.violation ?? "nothing", /follows|acknowledged as|cannot be used/);
  });
});
