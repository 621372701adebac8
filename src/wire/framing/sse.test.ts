import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { everyCut } from "../../../test/fuzz/decode.ts";
import { bytesInUse } from "../../../test/fuzz/memory.ts";
import { SeededRandom } from "../../../test/support/seeded-random.ts";
import type { FrameFault } from "../channel.ts";
import { encodeSse, sseDecoder, type SseEvent } from "./sse.ts";

const MiB = 1024 * 1024;
const KEPT = 5 * MiB;

function eventsOf(chunks: Iterable<Buffer>, limit = 1000): (SseEvent | FrameFault)[] {
  const found: (SseEvent | FrameFault)[] = [];
  const decoder = sseDecoder(limit, {
    event: (event) => found.push(event),
    fault: (fault) => found.push(fault),
  });
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return found;
}

const message = (data: string, id = "") => ({ event: "message", data, id });

describe("SseDecoder", () => {
  it("reads an event stream as the standard says, however the bytes are cut", () => {
    // WHATWG HTML, section 9.2.6, with its examples.
    const table: [stream: string, events: SseEvent[]][] = [
      ["data: YHOO\ndata: +2\ndata: 10\n\n", [message("YHOO\n+2\n10")]],
      [
        ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
        [message("first event", "1"), message("second event"), message(" third event")],
      ],
      ["data\n\ndata\ndata\n\ndata:\n", [message(""), message("\n")]],
      ["data:test\n\ndata: test\n\n", [message("test"), message("test")]],
      ["data: a\r\rdata: b\r\n\r\ndata: c\n\n", [message("a"), message("b"), message("c")]],
      ["data: a\r\ndata: b\rdata: c\n\r\n", [message("a\nb\nc")]],
      ["\u{feff}data: a\n\n", [message("a")]],
      ["\u{feff}\u{feff}data: a\n\ndata: b\n\n", [message("b")]],
      ["data: \u{feff}a\n\n", [message("\u{feff}a")]],
      ["event: add\ndata: 1\n\ndata: 2\n\n", [{ ...message("1"), event: "add" }, message("2")]],
      ["event: lost\n\ndata: 1\n\n", [message("1")]],
      ["id: 7\n\ndata: a\n\ndata: b\nid: \n\n", [message("a", "7"), message("b")]],
      ["id: 7\ndata: a\n\nid: 8\0\ndata: b\n\n", [message("a", "7"), message("b", "7")]],
      ["data: a\nretry: 10\nDATA: x\n data: x\ndatax: x\n:data: x\n\n", [message("a")]],
      ["data: é日🙂:\ndata::\n\n", [message("é日🙂:\n:")]],
      ["data: a\n\ndata: incomplete", [message("a")]],
      ["data: a\n\ndata: incomplete\n", [message("a")]],
      ["\n\n\r\r\r\n\n: only a comment\n\n", []],
    ];
    for (const [stream, expected] of table) {
      for (const chunks of everyCut(Buffer.from(stream))) {
        assert.deepEqual(eventsOf(chunks), expected, JSON.stringify(stream));
      }
    }
  });

  it("replaces bytes that are not UTF-8 with U+FFFD", () => {
    const bytes = Buffer.from("data: a\xffb\n\ndata: \xe2\x82\n\n", "latin1");
    for (const chunks of everyCut(bytes)) {
      assert.deepEqual(eventsOf(chunks), [message("a\u{fffd}b"), message("\u{fffd}")]);
    }
  });

  it("accepts data of exactly the limit, in bytes, and reports one more", () => {
    const stream = [
      "data: 12345678",
      "data: 123456789",
      "data: 1234\ndata: 567",
      "data: 1234\ndata: 5678",
      "data: 日日éé",
      "data: 日日é",
    ];
    const found = eventsOf([Buffer.from(stream.join("\n\n") + "\n\n")], 8).map((one) =>
      "kind" in one ? `${one.kind} ${one.size}` : one.data,
    );
    const expected = ["12345678", "oversize 9", "1234\n567", "oversize 9", "oversize 10", "日日é"];
    assert.deepEqual(found, expected);
  });

  it("reports both ends of an event over the limit, and delivers the events after it", () => {
    const lines = ['{"id":1,', "x".repeat(20_000), ',"end":2}'];
    for (const data of [lines.join(""), lines.join("\n")]) {
      const bytes = Buffer.from(encodeSse("before") + encodeSse(data) + encodeSse("after"));
      for (const size of [1, 4096, bytes.length]) {
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
          bytes.subarray(i * size, (i + 1) * size),
        );
        const [before, fault, after] = eventsOf(chunks, 5000);
        assert.deepEqual([before, after], [message("before"), message("after")]);
        assert.ok(fault !== undefined && "kind" in fault);
        assert.equal(fault.size, data.length);
        assert.ok(data.startsWith(fault.head) && fault.head.length > 4000);
        assert.equal(fault.tail, data.slice(-256));
      }
    }
  });

  it("restores any text after encoding, cut at random", () => {
    const random = new SeededRandom(0x55e);
    const pieces = ["\n", "\r", "\r\n", ":", " ", "data: ", "é", "🙂", "x", "{}", "\u{feff}"];
    for (let round = 0; round < 300; round++) {
      const texts = Array.from({ length: 1 + random.below(5) }, () =>
        Array.from({ length: random.below(12) }, () => random.pick(pieces)).join(""),
      );
      const bytes = Buffer.from(texts.map((text) => encodeSse(text)).join(""));
      const expected = texts.map((text) => message(text.replaceAll(/\r\n|\r/g, "\n")));
      assert.deepEqual(eventsOf(random.cut(bytes, 1 + random.below(20))), expected);
    }
  });

  it("skips an event far over the limit in bounded memory, in one line or in many", () => {
    const lines = {
      ["x".repeat(64 * 1024)]: 200,
      ["data\n".repeat(13_000)]: 1,
      ["data: 1\n:\n"]: 1,
    };
    for (const [line, size] of Object.entries(lines)) {
      const faults: FrameFault[] = [];
      const decoder = sseDecoder(MiB / 8, {
        event: () => {},
        fault: (fault) => faults.push(fault),
      });
      decoder.push(Buffer.from("data: "));
      const chunk = Buffer.from(line);
      const before = bytesInUse();
      for (let pushed = 0; pushed < size * MiB; pushed += chunk.length) decoder.push(chunk);
      const kept = bytesInUse() - before;
      assert.ok(kept < KEPT, `${kept} bytes were kept`);
      decoder.push(Buffer.from("\n\n"));
      assert.equal(faults.length, 1);
    }
  });

  it("collects an event that comes byte by byte in memory of its own size", () => {
    const decoder = sseDecoder(MiB, { event: () => {}, fault: () => {} });
    const before = bytesInUse();
    decoder.push(Buffer.from("data: "));
    for (let i = 0; i < 100_000; i++) decoder.push(Buffer.of(0x78));
    assert.ok(bytesInUse() - before < KEPT);
    decoder.push(Buffer.from("\n"));
    for (let i = 0; i < 100_000; i++) decoder.push(Buffer.from("data\n"));
    assert.ok(bytesInUse() - before < KEPT);
  });
});

describe("encodeSse", () => {
  it("writes the given fields, and each line of the data", () => {
    assert.equal(
      encodeSse("a\nb", { event: "e", id: "7" }),
      "event: e\nid: 7\ndata: a\ndata: b\n\n",
    );
    assert.equal(encodeSse(""), "data: \n\n");
  });
});
