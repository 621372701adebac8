import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeFrame } from "../../framing/length-prefixed.ts";
import { FrameBoundary } from "./frame-boundary.ts";

/** What it finds in a stream that comes in chunks of a size. */
function cut(bytes: Buffer, size: number): string[] {
  const boundary = new FrameBoundary(100);
  const found: string[] = [];
  let frame: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    let chunk = bytes.subarray(at, at + size);
    while (chunk.length > 0) {
      const piece = boundary.next(chunk);
      assert.ok(piece.length > 0);
      chunk = chunk.subarray(piece.length);
      frame.push(...piece.data);
      if (!piece.isEnd) continue;
      found.push(piece.isEmpty ? "empty" : Buffer.concat(frame).toString("latin1", 4));
      frame = [];
    }
  }
  assert.deepEqual(frame, []);
  return found;
}

test("finds the same frames however the bytes are cut", () => {
  const bodies = ["one", "", "a longer frame", "x", "", "", "the last"];
  const bytes = Buffer.concat(bodies.map((body) => encodeFrame(Buffer.from(body))));
  const expected = bodies.map((body) => (body === "" ? "empty" : body));
  for (let size = 1; size <= bytes.length; size += 1) assert.deepEqual(cut(bytes, size), expected);
});

test("refuses a frame over the limit by its prefix alone", () => {
  const prefix = Buffer.from([0, 0, 0, 101]);
  assert.throws(
    () => new FrameBoundary(100).next(prefix),
    /a frame of 101 bytes was announced, the limit is 100/,
  );
});
