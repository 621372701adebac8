import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";

import { blobId } from "./file-lines.ts";
import { sha1 } from "./sha1.ts";

describe("blobId()", () => {
  it("is the id that git has, of a small text and of a large one", () => {
    assert.equal(blobId(Buffer.from("hello\n")), "ce013625030ba8dba906f756967f9e9ca394464a");
    const large = Buffer.alloc(100_000, "hello\n");
    assert.equal(blobId(large), "517f39259016084a8820de5f7258b73dafc1052a");
    assert.equal(blobId(Buffer.from("hello\n")), "ce013625030ba8dba906f756967f9e9ca394464a");
  });
});

describe("sha1()", () => {
  it("is what Node's own is, for every length around a block", () => {
    for (const length of [...Array.from({ length: 140 }, (_, n) => n), 65_535]) {
      const content = Buffer.from(Array.from({ length }, (_, at) => (at * 31 + length) % 256));
      const expected = createHash("sha1").update(content).digest("hex");
      assert.equal(sha1(content), expected, `${length} bytes`);
    }
  });
});
