import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { decodeHeader } from "./header-value.ts";

describe("decodeHeader()", () => {
  it("takes a value for itself unless it is wrapped on both sides", () => {
    for (const value of [
      "Hello",
      "SGVsbG8=",
      "=?base64?SGVsbG8=",
      "SGVsbG8=?=",
      "=?BASE64?YQ==?=",
    ]) {
      assert.equal(decodeHeader(value), value);
    }
  });

  it("decodes what is wrapped", () => {
    for (const text of ["", "Hello", "Zürich", " padded ", "日本", "=?base64?x?="]) {
      const wrapped = `=?base64?${Buffer.from(text).toString("base64")}?=`;
      assert.equal(decodeHeader(wrapped), text);
    }
  });

  it("refuses base64 that is not canonical, or not UTF-8", () => {
    for (const inner of ["SGVsbG8", "SGVs!!!bG8=", "SGVsbG8-", "a", "/w=="]) {
      assert.equal(decodeHeader(`=?base64?${inner}?=`), undefined, inner);
    }
  });
});
