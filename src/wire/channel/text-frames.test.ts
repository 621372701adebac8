import assert from "node:assert/strict";
import type { Writable } from "node:stream";
import { describe, it } from "node:test";

import * as ws from "ws";

import { encodeTextFrames } from "./websocket.ts";

/** Of the library, whose types leave it out. */
const { Receiver } = ws as unknown as {
  Receiver: new (options: object) => Writable;
};

/** What another implementation reads from these frames. */
function read(frames: Buffer): string[] {
  const messages: string[] = [];
  const receiver = new Receiver({ isServer: false });
  receiver.on("message", (data: Buffer) => messages.push(String(data)));
  receiver.on("error", (error: Error) => {
    throw error;
  });
  receiver.write(frames);
  return messages;
}

describe("encodeTextFrames", () => {
  it("frames messages of all lengths, each with the header of its size", () => {
    const lengths = [0, 1, 125, 126, 127, 65_535, 65_536, 70_000];
    const messages = lengths.map((length) => "x".repeat(length));
    assert.deepEqual(read(encodeTextFrames(messages)), messages);
  });

  it("counts bytes, not characters, where a message is not ASCII", () => {
    const messages = ["plain", "é".repeat(63), "🙂".repeat(20_000), "\u0000\u007f", "日本語"];
    assert.deepEqual(read(encodeTextFrames(messages)), messages);
  });

  it("replaces half a surrogate pair, as UTF-8 cannot have one", () => {
    assert.deepEqual(read(encodeTextFrames(["a\ud83d", "b"])), ["a\ufffd", "b"]);
  });

  it("writes the same bytes as one message at a time", () => {
    const messages = ["a", "é", "x".repeat(200), "y".repeat(66_000)];
    const single = messages.map((message) => encodeTextFrames([message]));
    assert.deepEqual(encodeTextFrames(messages), Buffer.concat(single));
  });
});
