import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Pieces } from "./pieces.ts";

function joined(...parts: (string | Uint8Array)[]): unknown {
  const pieces = new Pieces();
  for (const part of parts) pieces.add(Buffer.from(part), "application/octet-stream");
  return pieces.result().content;
}

describe("Pieces", () => {
  it("joins text, also if a character is split between two pieces", () => {
    const snow = Buffer.from("☃ falls");
    assert.deepEqual(joined(snow.subarray(0, 2), snow.subarray(2)), [
      { type: "text", text: "☃ falls" },
    ]);
  });

  it("keeps binary content unchanged", () => {
    const resource = {
      uri: "bus:stream",
      mimeType: "application/octet-stream",
      blob: Buffer.from([0xff, 0x00]).toString("base64"),
    };
    assert.deepEqual(joined(Uint8Array.of(0xff), Uint8Array.of(0)), [
      { type: "resource", resource },
    ]);
  });

  it("is empty without pieces, and limited in size", () => {
    assert.deepEqual(joined(), []);
    const pieces = new Pieces();
    const megabyte = new Uint8Array(1024 * 1024);
    for (let n = 0; n < 16; n++) pieces.add(megabyte, "");
    assert.throws(() => pieces.add(megabyte, ""), { code: "limit" });
  });
});
