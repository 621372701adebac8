import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";

import { blobId } from "./file-lines.ts";

describe("blobId()", () => {
  it("is the id that git has, for texts of every length around a block and beyond", () => {
    const lengths = [...Array.from({ length: 140 }, (_, length) => length), 65_520, 65_530, 70_000];
    for (const length of lengths) {
      const content = Buffer.from(Array.from({ length }, (_, at) => (at * 31 + length) % 256));
      const expected = createHash("sha1").update(`blob ${length}\0`).update(content).digest("hex");
      assert.equal(blobId(content), expected, `${length} bytes`);
    }
    assert.equal(blobId(Buffer.from("hello\n")), "ce013625030ba8dba906f756967f9e9ca394464a");
  });
});
