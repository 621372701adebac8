import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { memoryPair } from "./memory.ts";
import { tapped } from "./tapped.ts";

describe("a tapped channel", () => {
  it("passes everything on in both directions, and shows it", async () => {
    const [ours, theirs] = memoryPair();
    const seen: string[] = [];
    const channel = tapped(ours, {
      message: (text, direction) => seen.push(`${direction} ${text}`),
    });
    const got = Promise.withResolvers<string>();
    const back = Promise.withResolvers<string>();
    const ended = Promise.withResolvers<void>();
    theirs.receive({ message: got.resolve, fault: () => {}, end: () => ended.resolve() });
    channel.receive({ message: back.resolve, fault: () => {}, end: () => {} });
    await channel.send("there");
    await theirs.send("back");
    assert.deepEqual([await got.promise, await back.promise], ["there", "back"]);
    assert.deepEqual(seen, ["out there", "in back"]);
    await channel[Symbol.asyncDispose]();
    await ended.promise;
    await theirs[Symbol.asyncDispose]();
  });
});
