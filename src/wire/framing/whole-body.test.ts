import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { decode, everyCut } from "../../../test/fuzz/decode.ts";
import { bytesInUse } from "../../../test/fuzz/memory.ts";
import { wholeBody } from "./whole-body.ts";

describe("wholeBody", () => {
  it("returns the body as one message however the bytes are cut, including newlines", () => {
    const text = '{\r\n "a": "é日🙂"\n}\n';
    for (const chunks of everyCut(Buffer.from(text))) {
      assert.deepEqual(decode(wholeBody, 100, chunks), [text]);
    }
  });

  it("finds nothing in an empty body", () => {
    assert.deepEqual(decode(wholeBody, 100, []), []);
    assert.deepEqual(decode(wholeBody, 100, [Buffer.alloc(0)]), []);
  });

  it("accepts a body of exactly the limit, and reports one byte more with both its ends", () => {
    assert.deepEqual(decode(wholeBody, 4, [Buffer.from("日x")]), ["日x"]);
    const [fault] = decode(wholeBody, 4, [Buffer.from("12"), Buffer.from("345")]);
    const ends = { head: "12345", tail: "12345" };
    assert.deepEqual(fault, { kind: "oversize", size: 5, limit: 4, ...ends });
  });

  it("reports a body that is not UTF-8", () => {
    const [fault, ...rest] = decode(wholeBody, 100, [Buffer.of(0x7b, 0xff), Buffer.of(0x7d)]);
    assert.deepEqual(rest, []);
    assert.partialDeepStrictEqual(fault, { kind: "encoding", size: 3, head: "{\u{fffd}}" });
  });

  it("reads a body of 200 MiB in bounded memory", () => {
    const decoder = wholeBody.decoder(1024, { text: () => {}, fault: () => {} });
    const chunk = Buffer.alloc(64 * 1024, "x");
    const before = bytesInUse();
    for (let i = 0; i < 3200; i++) decoder.push(chunk);
    assert.ok(bytesInUse() - before < 5 * 1024 * 1024);
  });
});
