import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import { describe, it } from "node:test";

import { decode, everyCut } from "../../../test/fuzz/decode.ts";
import { bytesInUse } from "../../../test/fuzz/memory.ts";
import { SeededRandom } from "../../../test/support/seeded-random.ts";
import type { FrameFault } from "../channel.ts";
import { ndjson } from "./ndjson.ts";

const MiB = 1024 * 1024;
const KEPT = 5 * MiB;

const whole = (text: string | Buffer) => [Buffer.from(text as string)];
const brief = (found: (string | FrameFault)[]) =>
  found.map((one) => (typeof one === "string" ? one : `${one.kind} ${one.size}`));

describe("ndjson", () => {
  it("finds the same lines however the bytes are cut", () => {
    const bytes = Buffer.concat([
      Buffer.from("a\r\n\n\r\né日🙂\n"),
      Buffer.from([0xc3, 0x28, 0x0a]),
      Buffer.from("123456789012\r\r\nfar too long for it\nx\n"),
      Buffer.from("last 🙂"),
    ]);
    const lines = ["a", "é日🙂", "encoding 2", "123456789012\r", "oversize 19", "x", "last 🙂"];
    const expected = decode(ndjson, 14, [bytes]);
    assert.deepEqual(brief(expected), lines);
    for (const chunks of everyCut(bytes)) {
      assert.deepEqual(decode(ndjson, 14, chunks), expected, chunks.map(String).join("|"));
    }
  });

  it("agrees with a plain splitter on random bytes, cut at random", () => {
    const random = new SeededRandom(0x7a11);
    const pieces = ["\n", "\r\n", "\r", "a", "{}", "é", "日", "🙂", "x".repeat(30)].map((text) =>
      Buffer.from(text),
    );
    for (let round = 0; round < 400; round++) {
      const limit = 1 + random.below(60);
      const parts = Array.from({ length: random.below(60) }, () =>
        random.once(12) ? random.bytes(1 + random.below(4)) : random.pick(pieces),
      );
      const bytes = Buffer.concat(parts);
      const found = brief(decode(ndjson, limit, random.cut(bytes, 1 + random.below(20))));
      assert.deepEqual(found, split(bytes, limit), `round ${round}: ${bytes.toString("hex")}`);
    }
  });

  it("skips blank lines, of whitespace too, and no other line that begins with it", () => {
    const text = "\n  \n\t \r\n a\n\v\n \u00a0\n  ";
    const expected = [" a", "\v", " \u00a0"];
    for (const chunks of everyCut(Buffer.from(text))) {
      assert.deepEqual(decode(ndjson, 14, chunks), expected);
    }
  });

  it("accepts a line of exactly the limit, and reports one byte more", () => {
    const found = decode(ndjson, 8, whole("12345678\n123456789\n日日éé\n日日éé!\n"));
    assert.deepEqual(brief(found), ["12345678", "oversize 9", "oversize 10", "oversize 11"]);
    assert.deepEqual(decode(ndjson, 8, whole("日日é\n")), ["日日é"]);
  });

  it("reports both ends of a line over the limit, and delivers the lines after it", () => {
    const line = `{"id":1${"x".repeat(20_000)},"end":2}`;
    const bytes = Buffer.from(`before\n${line}\nafter\n`);
    for (const size of [1, 7, 4095, 4096, 4097, bytes.length]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      );
      const [before, fault, after] = decode(ndjson, 5000, chunks);
      assert.deepEqual([before, after], ["before", "after"]);
      assert.deepEqual(fault, {
        kind: "oversize",
        size: line.length,
        limit: 5000,
        head: line.slice(0, 4096),
        tail: line.slice(-256),
      });
    }
  });

  it("reports a line over the limit at the end of the stream", () => {
    assert.deepEqual(brief(decode(ndjson, 4, whole("12345"))), ["oversize 5"]);
  });

  it("reports each line that is not UTF-8, and delivers its neighbours", () => {
    const invalid = {
      "overlong NUL": [0xc0, 0x80],
      "overlong slash": [0xe0, 0x80, 0xaf],
      "lone surrogate": [0xed, 0xa0, 0x80],
      "surrogate pair": [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80],
      "past the last character": [0xf4, 0x90, 0x80, 0x80],
      "cut short": [0xe2, 0x82],
      "cut short before a quote": [0xf0, 0x9f, 0x99, 0x22],
      "continuation alone": [0x80],
      "never a byte of UTF-8": [0xff],
    };
    for (const [what, bytes] of Object.entries(invalid)) {
      const chunk = Buffer.concat([
        Buffer.from("é\n"),
        Buffer.from(bytes),
        Buffer.from("\n🙂\r\n"),
        Buffer.from(bytes),
      ]);
      for (const chunks of everyCut(chunk)) {
        const size = bytes.length;
        const expected = ["é", `encoding ${size}`, "🙂", `encoding ${size}`];
        assert.deepEqual(brief(decode(ndjson, 100, chunks)), expected, what);
      }
    }
  });

  it("keeps the byte order mark and other unusual characters unchanged", () => {
    const text = "\u{feff}a\u{2028}b\u{0}c\u{85}";
    assert.deepEqual(decode(ndjson, 100, whole(`${text}\n`)), [text]);
  });

  it("skips a line of 200 MiB in bounded memory", () => {
    const found: string[] = [];
    const faults: FrameFault[] = [];
    const decoder = ndjson.decoder(MiB, {
      text: (text) => found.push(text),
      fault: (fault) => faults.push(fault),
    });
    const chunk = Buffer.alloc(64 * 1024, "x");
    const before = bytesInUse();
    for (let i = 0; i < 3200; i++) {
      decoder.push(chunk);
      if (i % 1600 === 1599) assert.ok(bytesInUse() - before < KEPT, `after ${i} chunks`);
    }
    decoder.push(Buffer.from("\nnext\n"));
    assert.equal(faults[0]?.size, 3200 * chunk.length);
    assert.deepEqual(found, ["next"]);
    assert.ok(bytesInUse() - before < KEPT);
  });

  it("collects a line that comes byte by byte in memory of its own size", () => {
    const decoder = ndjson.decoder(MiB / 4, { text: () => {}, fault: () => {} });
    const before = bytesInUse();
    // Each byte is a view of a read buffer of its own, as a socket gives them.
    for (let i = 0; i < 100_000; i++) decoder.push(Buffer.allocUnsafeSlow(64).subarray(0, 1));
    assert.ok(bytesInUse() - before < KEPT);
    for (let i = 0; i < 100_000; i++) decoder.push(Buffer.of(0x78));
    assert.ok(bytesInUse() - before < KEPT);
  });

  it("releases a large line's memory once it is delivered", () => {
    const decoder = ndjson.decoder(64 * MiB, { text: () => {}, fault: () => {} });
    const before = bytesInUse();
    for (let i = 0; i < 512; i++) decoder.push(Buffer.alloc(64 * 1024, "x"));
    decoder.push(Buffer.from("\n"));
    assert.ok(bytesInUse() - before < KEPT);
  });
});

/** The same rules in the plainest way, for a whole document. */
function split(bytes: Buffer, limit: number): string[] {
  const found: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const newline = bytes.indexOf(0x0a, at);
    const end = newline < 0 ? bytes.length : newline;
    const line = bytes.subarray(at, end);
    const text = line.toString().replace(/\r$/, "");
    if (line.length > limit) found.push(`oversize ${line.length}`);
    else if (!isUtf8(line)) found.push(`encoding ${line.length}`);
    else if (!/^[ \t\r]*$/.test(text)) found.push(text);
    at = end + 1;
  }
  return found;
}
