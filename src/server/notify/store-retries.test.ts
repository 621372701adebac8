import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TrunklineError } from "../../base/errors.ts";
import { Log } from "../../base/log.ts";
import { storeRetries } from "./notifier.ts";

const full = (): TrunklineError => new TrunklineError("unavailable", "the disk is full");

function retries(lines: string[], firstWait = 1): ReturnType<typeof storeRetries> {
  return storeRetries({ log: new Log("error", (line) => lines.push(line)), firstWait });
}

describe("storeRetries()", { timeout: 30_000 }, () => {
  it("repeats a change until it is stored, and keeps the order", async () => {
    const lines: string[] = [];
    await using storing = retries(lines);
    const stored: string[] = [];
    let left = 3;
    const both = Promise.withResolvers<void>();
    storing.add(async () => {
      if (left-- > 0) throw full();
      stored.push("asked");
    });
    storing.add(async () => {
      stored.push("answered");
      both.resolve();
    });
    await both.promise;
    assert.deepEqual(stored, ["asked", "answered"]);
    assert.deepEqual(lines, []);
  });

  it("reports what can never be stored, and what could not be stored until the end", async () => {
    const lines: string[] = [];
    const storing = retries(lines, 3_600_000);
    const tried = Promise.withResolvers<void>();
    storing.add(async () => {
      throw new TrunklineError("config", "made by a newer Trunkline");
    });
    let attempts = 0;
    storing.add(async () => {
      attempts++;
      tried.resolve();
      throw full();
    });
    await tried.promise;
    await storing[Symbol.asyncDispose]();
    assert.equal(attempts, 2, "it is tried once more at the end, without waiting");
    assert.equal(lines.length, 2);
    assert.match(lines.join(), /notify\.lost.*newer Trunkline.*notify\.lost.*disk is full/s);
  });
});
