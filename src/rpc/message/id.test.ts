import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { FrameFault } from "../../wire/channel.ts";
import { holdId, recoverMessage, recoverUnparsed } from "./message.ts";

const idOf = (message: string) => {
  const { id } = JSON.parse(message) as { id: string | number };
  return String(holdId(id, message));
};

/** What a channel would keep of this message if it were over its limit. */
function oversize(message: string): FrameFault {
  const [head, tail] = [message.slice(0, 4096), message.slice(-256)];
  return { kind: "oversize", size: message.length, limit: 4096, head, tail };
}

const LONG = `"${"x".repeat(8000)}"`;
const lost = (text: string, isResponse = false) => ({ idText: text, isResponse });

describe("holdId", () => {
  it("returns an id as JSON text, exactly", () => {
    const same = [
      "1",
      '"1"',
      "-7",
      "12345678901234567890",
      "1.5",
      "1e300",
      '"é"',
      '"\\""',
      '"\\n"',
    ];
    for (const id of same) assert.equal(idOf(`{"id":${id},"params":{"id":5}}`), id);
    assert.equal(
      idOf(`{"params":[{"id":3}],"id" : 12345678901234567890 }`),
      "12345678901234567890",
    );
  });

  it("returns the same text for the same id, however it is written", () => {
    assert.equal(idOf(`{"id":1.0}`), "1");
    assert.equal(idOf(`{"id":1e0}`), "1");
    assert.equal(idOf(`{"id":"\\u0041"}`), `"A"`);
  });

  it("returns an id, and nothing else, if a message has several", () => {
    const texts = [
      `{"id":{"a":1},"\\u0069d":12345678901234567890}`,
      `{"id":12345678901234567890,"\\u0069d":1.5}`,
      `{"id":[],"id":1e300}`,
    ];
    for (const text of texts) {
      assert.equal(JSON.parse(idOf(text)), (JSON.parse(text) as { id: number }).id, text);
    }
  });

  it("writes half of a surrogate pair as an escape", () => {
    assert.equal(idOf(`{"id":"\\ud800"}`), `"\\ud800"`);
  });
});

describe("recoverMessage", () => {
  it("finds the id at either end of a message that is too large", () => {
    const table: [text: string, lost: object][] = [
      [`{"jsonrpc":"2.0","id":7,"method":"m","params":${LONG}}`, lost("7")],
      [`{"jsonrpc":"2.0","id":"a\\"b","method":"m","params":${LONG}}`, lost(`"a\\"b"`)],
      [`{"params":${LONG},"id":-12}`, lost("-12")],
      [`{"jsonrpc":"2.0","id":1.5,"method":"m","params":${LONG}}`, lost("1.5")],
      [`{"params":${LONG},"id":-2.5E+300}`, lost("-2.5E+300")],
      [`{"params":${LONG}\t,\n"id" : "x" } \r`, lost(`"x"`)],
      [`{"id":1,"result":${LONG}}`, lost("1", true)],
      [`{"result":${LONG},"id":2}`, lost("2", true)],
      [`{"error":{"code":1,"message":${LONG}},"id":3}`, lost("3", true)],
      [`{"jsonrpc":"2.0","method":"m","params":${LONG}}`, lost("null")],
      [`{"method":"m","id":4,"result":${LONG}}`, lost("4")],
    ];
    for (const [text, expected] of table)
      assert.deepEqual(recoverMessage(oversize(text)), expected);
  });

  it("is not deceived by nested members or strings", () => {
    const texts = [
      `{"params":{"id":1,"x":${LONG}}}`,
      `{"params":${LONG},"x":{"a":1,"id":1}}`,
      `{"params":"${"x".repeat(8000)},\\"id\\":1}"}`,
      `[{"id":1,"params":${LONG}}]`,
      `[${LONG},{"a":1,"id":1}]`,
      LONG,
    ];
    for (const text of texts) assert.deepEqual(recoverMessage(oversize(text)), lost("null"), text);
    assert.equal(
      recoverMessage(oversize(`{"params":{"result":${LONG}},"id":1}`)).isResponse,
      false,
    );
  });

  it("returns no id that is not JSON, or is unreasonable", () => {
    const bad = [
      "007",
      "-",
      "+1",
      "01",
      "1.",
      ".5",
      "1e",
      '"\\x"',
      '"\\u12"',
      '"a\tb"',
      "{}",
      "[1]",
      "nul",
      "--1",
    ];
    for (const id of [...bad, `"${"x".repeat(600)}"`]) {
      for (const text of [`{"id":${id},"params":${LONG}}`, `{"params":${LONG},"id":${id}}`]) {
        const { idText: found } = recoverMessage(oversize(text));
        assert.equal(found, "null", text.slice(0, 40));
      }
    }
  });

  it("finds only the ids of our own requests in text that is not UTF-8", () => {
    const fault = (head: string): FrameFault => ({ ...oversize(head), kind: "encoding" });
    assert.deepEqual(recoverMessage(fault(`{"id":5,"result":"\u{fffd}"}`)), lost("5", true));
    assert.deepEqual(recoverMessage(fault(`{"id":5,"method":"\u{fffd}"}`)), lost("null"));
  });

  it("is fast on hostile input", () => {
    const started = process.threadCpuUsage();
    for (const unit of [",", ', "id": ', " ", '"', "\\", '"\\u0041', "{", "1", '{"result"']) {
      for (let i = 0; i < 20; i++) recoverMessage(oversize(unit.repeat(8000)));
    }
    const { user, system } = process.threadCpuUsage(started);
    assert.ok(user + system < 500_000, `${user + system} µs`);
  });
});

describe("recoverUnparsed", () => {
  it("finds the same in a complete text", () => {
    assert.deepEqual(recoverUnparsed(`{"id":7,"params":${LONG}}`), lost("7"));
    assert.deepEqual(recoverUnparsed(`{"result":${LONG},"id":8}`), lost("8", true));
  });
});
