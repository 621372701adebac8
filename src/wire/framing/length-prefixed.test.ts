import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { everyCut } from "../../../test/fuzz/decode.ts";
import { bytesInUse } from "../../../test/fuzz/memory.ts";
import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { BUFFERS } from "../../base/limit/byte-budget.ts";
import { encodeFrame, type Frames, lengthPrefixedDecoder, MAX_FRAME } from "./length-prefixed.ts";

const KEPT = 5 * 1024 * 1024;

class Recorded implements Frames {
  readonly found: string[] = [];
  readonly bodies: Buffer[] = [];

  frame(body: Buffer): void {
    this.bodies.push(body);
    this.found.push(body.toString("latin1"));
  }

  oversize(length: number): void {
    this.found.push(`oversize ${length}`);
  }

  truncated(missing: number): void {
    this.found.push(`truncated ${missing}`);
  }
}

function decodeFrames(limit: number, chunks: Iterable<Buffer>): Recorded {
  const out = new Recorded();
  const decoder = lengthPrefixedDecoder(limit, out);
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return out;
}

const frames = (...bodies: string[]) =>
  Buffer.concat(bodies.map((body) => encodeFrame(Buffer.from(body, "latin1"))));

describe("LengthPrefixedDecoder", () => {
  it("finds the same frames however the bytes are cut", () => {
    const bytes = frames("abc", "", "\0\xff", "far too long", "not looked at");
    const expected = ["abc", "", "\0\xff", "oversize 12"];
    for (const chunks of everyCut(bytes)) {
      assert.deepEqual(decodeFrames(8, chunks).found, expected);
    }
  });

  it("finds random frames, cut at random", () => {
    const random = new SeededRandom(0xf4a);
    for (let round = 0; round < 200; round++) {
      const bodies = Array.from({ length: random.below(20) }, () =>
        random.bytes(random.below(40)).toString("latin1"),
      );
      const chunks = random.cut(frames(...bodies), 1 + random.below(50));
      assert.deepEqual(decodeFrames(40, chunks).found, bodies);
    }
  });

  it("accepts a frame of exactly the limit, and refuses one byte more", () => {
    const found = ["12345678", "oversize 9"];
    assert.deepEqual(decodeFrames(8, [frames("12345678", "123456789")]).found, found);
  });

  it("refuses a frame of 4 GiB with the last byte of its prefix", () => {
    const out = new Recorded();
    const decoder = lengthPrefixedDecoder(MAX_FRAME, out);
    decoder.push(Buffer.of(0xff, 0xff, 0xff));
    assert.deepEqual(out.found, []);
    decoder.push(Buffer.of(0xff));
    assert.deepEqual(out.found, ["oversize 4294967295"]);
  });

  it("says how much was missing when the stream ends inside a frame", () => {
    const bytes = frames("abcdef");
    const missing = ["truncated 3", "truncated 2", "truncated 1"];
    for (const [at, expected] of missing.entries()) {
      assert.deepEqual(decodeFrames(8, [bytes.subarray(0, at + 1)]).found, [expected]);
    }
    assert.deepEqual(decodeFrames(8, [bytes.subarray(0, 4)]).found, ["truncated 6"]);
    assert.deepEqual(decodeFrames(8, [bytes.subarray(0, 9)]).found, ["truncated 1"]);
    assert.deepEqual(decodeFrames(8, [bytes]).found, ["abcdef"]);
  });

  it("returns bodies that the receiver may keep", () => {
    const bytes = frames("first", "second");
    const out = new Recorded();
    const decoder = lengthPrefixedDecoder(8, out);
    for (const chunk of [bytes.subarray(0, 12), bytes.subarray(12)]) decoder.push(chunk);
    bytes.fill(0);
    decoder.push(frames("third"));
    assert.deepEqual(out.bodies.map(String), ["first", "second", "third"]);
  });

  it("allocates nothing for a false prefix", () => {
    const before = bytesInUse();
    const decoders = Array.from({ length: 1000 }, () => {
      const decoder = lengthPrefixedDecoder(MAX_FRAME, new Recorded());
      // 16 MiB are announced and three bytes come.
      decoder.push(Buffer.of(1, 0, 0, 0, 1, 2, 3));
      return decoder;
    });
    assert.ok(bytesInUse() - before < KEPT);
    assert.equal(decoders.length, 1000);
  });

  it("uses none of the byte budget that the other doors share", () => {
    const before = BUFFERS.used;
    const decoder = lengthPrefixedDecoder(MAX_FRAME, new Recorded());
    decoder.push(Buffer.of(1, 0, 0, 0));
    decoder.push(Buffer.alloc(8 * 1024 * 1024));
    assert.equal(BUFFERS.used, before);
  });

  it("collects a frame that comes byte by byte in memory of its own size", () => {
    const out = new Recorded();
    const decoder = lengthPrefixedDecoder(MAX_FRAME, out);
    decoder.push(Buffer.of(0, 0x10, 0, 0));
    const before = bytesInUse();
    // Each byte is a view of a read buffer of its own, as a socket gives them.
    for (let i = 0; i < 100_000; i++) decoder.push(Buffer.allocUnsafeSlow(64).subarray(0, 1));
    assert.ok(bytesInUse() - before < KEPT);
    decoder.push(Buffer.alloc(0x100000 - 100_000));
    assert.equal(out.bodies[0]?.length, 0x100000);
  });

  it("keeps nothing of what follows a refused frame", () => {
    const out = new Recorded();
    const decoder = lengthPrefixedDecoder(MAX_FRAME, out);
    const chunk = Buffer.alloc(64 * 1024);
    const prefix = Buffer.alloc(4);
    prefix.writeUInt32BE(3200 * chunk.length);
    const before = bytesInUse();
    decoder.push(prefix);
    for (let i = 0; i < 3200; i++) decoder.push(chunk);
    assert.ok(bytesInUse() - before < KEPT);
    decoder.push(frames("after"));
    decoder.end();
    assert.deepEqual(out.found, ["oversize 209715200"]);
  });
});
