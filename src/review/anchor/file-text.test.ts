import assert from "node:assert/strict";
import { describe, it, test } from "node:test";

import { blobId, isBinary, keyOf, linesOf, textOf } from "./file-text.ts";

describe("blobId()", () => {
  it("equals git's id, of a small text and of a large one", () => {
    assert.equal(blobId(Buffer.from("hello\n")), "ce013625030ba8dba906f756967f9e9ca394464a");
    const large = Buffer.alloc(100_000, "hello\n");
    assert.equal(blobId(large), "517f39259016084a8820de5f7258b73dafc1052a");
  });
});

describe("textOf()", () => {
  it("replaces broken characters, and leaves out a byte order mark", () => {
    const bytes = [0xef, 0xbb, 0xbf, 0x61, 0xff, 0xef, 0xbb, 0xbf, 0x62];
    assert.equal(textOf(Uint8Array.from(bytes)), "a\ufffd\ufeffb");
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

test("keyOf() ignores space and the kind of quotes, and nothing else", () => {
  assert.equal(keyOf("\tcall( 'a b' )"), keyOf('    call("ab")'));
  assert.notEqual(keyOf("it's"), keyOf("its"));
  assert.notEqual(keyOf("call(a);"), keyOf("call(a)"));
});
