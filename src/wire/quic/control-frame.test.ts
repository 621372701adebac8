import assert from "node:assert/strict";
import { test } from "node:test";
import { HEADER, readFrames, writeHeader } from "./control-frame.ts";

function frame(kind: number, flags: number, id: number, payload: string): Buffer {
  const bytes = Buffer.alloc(HEADER + payload.length);
  writeHeader(bytes, 0, kind, flags, id, payload.length);
  bytes.write(payload, HEADER);
  return bytes;
}

test("readFrames() returns whole frames and leaves the unfinished one", () => {
  const whole = [frame(1, 2, 3, "first"), frame(200, 255, 0xffff_fffe, ""), frame(4, 0, 5, "x")];
  const bytes = Buffer.concat([...whole, frame(6, 0, 7, "not all of it").subarray(0, -1)]);
  const seen: unknown[] = [];
  const done = readFrames(bytes, (kind, flags, id, payload) => {
    seen.push([kind, flags, id, payload.toString()]);
  });
  assert.deepEqual(seen, [
    [1, 2, 3, "first"],
    [200, 255, 0xffff_fffe, ""],
    [4, 0, 5, "x"],
  ]);
  assert.equal(done, Buffer.concat(whole).length);
});

test("readFrames() waits for a whole header", () => {
  assert.equal(
    readFrames(Buffer.alloc(HEADER - 1), () => assert.fail()),
    0,
  );
});
