import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";

import { blobId, isBinary, linesOf, textOf } from "./file-lines.ts";

describe("blobId()", () => {
  // The first 32 KiB of a process are hashed here, the rest by Node: this test comes first.
  it("equals Node's SHA-1, for every length around a block", () => {
    for (let length = 0; length < 140; length++) {
      const content = Buffer.from(Array.from({ length }, (_, at) => (at * 31 + length) % 256));
      const expected = createHash("sha1").update(`blob ${length}\0`).update(content).digest("hex");
      assert.equal(blobId(content), expected, `${length} bytes`);
    }
  });

  it("equals git's id, of a small text and of a large one", () => {
    assert.equal(blobId(Buffer.from("hello\n")), "ce013625030ba8dba906f756967f9e9ca394464a");
    const large = Buffer.alloc(100_000, "hello\n");
    assert.equal(blobId(large), "517f39259016084a8820de5f7258b73dafc1052a");
    assert.equal(blobId(Buffer.from("hello\n")), "ce013625030ba8dba906f756967f9e9ca394464a");
  });
});

describe("textOf()", () => {
  it("decodes as TextDecoder does: broken characters are replaced, and a mark of byte order is left out", () => {
    const mark = [0xef, 0xbb, 0xbf];
    const broken = [0xe2, 0x80, 0x41, 0xff, 0xc0, 0xaf, 0xed, 0xa0, 0x80, 0xf0, 0x9f, 0x98];
    for (const bytes of [[], [0x61], mark, [...mark, ...mark, 0x61], [0x61, ...mark], broken]) {
      const content = Uint8Array.from(bytes);
      assert.equal(textOf(content), new TextDecoder().decode(content), String(bytes));
    }
  });

  it("decodes a part of an array that is itself a part of another", () => {
    const part = new TextEncoder().encode("one\ntwö\nthree\n").subarray(4);
    assert.equal(textOf(part, 0, 4), "twö");
    assert.equal(textOf(part, 5), "three\n");
  });
});

describe("linesOf()", () => {
  it("returns lines without line ends, and no line after the last line end", () => {
    assert.deepEqual(linesOf("a\r\nb\n\nc"), ["a", "b", "", "c"]);
    assert.deepEqual(linesOf("a\n"), ["a"]);
    assert.deepEqual(linesOf(""), []);
    assert.deepEqual(linesOf("\n"), [""]);
  });
});

describe("isBinary()", () => {
  it("looks for a NUL in the first 8000 bytes, as git does", () => {
    const at = (index: number): Buffer => Buffer.alloc(8001, "a").fill(0, index, index + 1);
    assert.deepEqual([isBinary(at(7999)), isBinary(at(8000))], [true, false]);
  });
});
