import { equals, type JsonObject } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../test/support/requirement.ts";
import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { TrunklineError } from "../../base/errors.ts";
import { MAX_FRAME } from "../../wire/framing/length-prefixed.ts";
import { bodyOf, decodeRequest, decodeResponse, encodeRequest, encodeResponse } from "./codec.ts";
import { PluginRequestSchema, PluginResponseSchema } from "./plugin.gen.ts";
import { sampleMessage } from "../../../test/samples/sample-message.ts";

const ROUNDS = 1_000;

function calling(args: object): Buffer {
  const value = {
    toolName: "t",
    arguments: args as JsonObject,
    callerPlugin: "transport.stdio",
  };
  return encodeRequest({ requestId: "1", request: { case: "toolCall", value } });
}

function bytes(...parts: string[]): Buffer {
  return Buffer.from(parts.join(""), "hex");
}

function argumentsOf(frame: Buffer): unknown {
  const { request } = decodeRequest(bodyOf(frame));
  return request.case === "toolCall" ? request.value.arguments : undefined;
}

describe("encodeRequest()", () => {
  it("encodes the fields under the numbers of the schema", () => {
    covers("bus.frame.layout");
    const frame = encodeRequest({ requestId: "a", request: { case: "listTools", value: {} } });
    assert.deepEqual(frame, bytes("00000006", "0a0161", "aa0100"));
  });

  it("encodes a Struct as google.protobuf.Struct", () => {
    const frame = calling({ n: 1, z: null });
    const number = bytes("0a01", "6e", "1209", "11", "000000000000f03f");
    const nothing = bytes("0a01", "7a", "1202", "0800");
    const struct = Buffer.concat([wrap(number, 1), wrap(nothing, 1)]);
    const caller = Buffer.from("transport.stdio");
    const call = Buffer.concat([bytes("0a0174"), wrap(struct, 2), wrap(caller, 3)]);
    const body = Buffer.concat([bytes("0a0131"), wrap(call, 20)]);
    assert.deepEqual(Buffer.from(bodyOf(frame)), body);
  });

  it("reports a message that is too long to send", () => {
    covers("bus.frame.limit");
    const content = new Uint8Array(MAX_FRAME);
    assert.throws(() => encodeRequest({ request: { case: "storageWrite", value: { content } } }), {
      code: "limit",
      message: /^Cannot send a PluginRequest: it has 167772\d\d bytes, the limit is 16777216$/,
    });
  });

  it("sends nothing that it would refuse to read", () => {
    for (const number of [NaN, Infinity, -Infinity]) {
      assert.throws(() => calling({ a: [{ number }] }), {
        code: "usage",
        message: "Cannot send a PluginRequest: a number is not finite, which JSON cannot express",
      });
    }
    assert.throws(() => calling(nested(257)), { code: "limit", message: /256 levels/ });
  });

  it("replaces characters that UTF-8 cannot represent", () => {
    assert.deepEqual(argumentsOf(calling({ half: "\ud800!" })), { half: "\ufffd!" });
  });
});

describe("decodeRequest(), decodeResponse()", () => {
  it("read back every message that can be sent", () => {
    const random = new SeededRandom(1);
    for (let round = 0; round < ROUNDS; round++) {
      const request = sampleMessage(random, PluginRequestSchema);
      const sameRequest = decodeRequest(bodyOf(encodeRequest(request)));
      assert.ok(equals(PluginRequestSchema, request, sameRequest), `round ${round}`);
      const response = sampleMessage(random, PluginResponseSchema);
      const sameResponse = decodeResponse(bodyOf(encodeResponse(response)));
      assert.ok(equals(PluginResponseSchema, response, sameResponse), `round ${round}`);
    }
  });

  it("keep every digit of a version", () => {
    const newVersion = 2n ** 63n - 1n;
    const value = { success: true, newVersion };
    const frame = encodeResponse({ response: { case: "storageWrite", value } });
    const { response } = decodeResponse(bodyOf(frame));
    assert.ok(response.case === "storageWrite");
    assert.equal(response.value.newVersion, newVersion);
  });

  it("keep fields of a newer schema", () => {
    covers("bus.schema.unknown-fields");
    const body = bytes("0a0131", "a2010a", "0a0174", "9a06026869", "3807");
    const request = decodeRequest(body);
    assert.deepEqual(Buffer.from(bodyOf(encodeRequest(request))), body);
  });

  it("read a request of an unknown kind, so that it can be answered", () => {
    const request = decodeRequest(bytes("0a0137", "e20300"));
    assert.equal(request.requestId, "7");
    assert.equal(request.request.case, undefined);
  });

  it("treat a member named __proto__ as plain data", () => {
    const args = JSON.parse(`{"__proto__":{"polluted":true},"a":{"__proto__":null}}`) as object;
    const read = argumentsOf(calling(args)) as Record<string, unknown>;
    assert.equal(JSON.stringify(read), JSON.stringify(args));
    assert.equal(Object.getPrototypeOf(read), Object.prototype);
    assert.equal(read.polluted, undefined);
    assert.equal(({} as Record<string, unknown>).polluted, undefined);
  });

  it("read JSON of 256 levels", () => {
    assert.deepEqual(argumentsOf(calling(nested(256))), nested(256));
  });
});

describe("bodyOf()", () => {
  const frame = calling({ a: 1 });

  it("reports a frame that was cut off anywhere", () => {
    for (let end = 0; end < frame.length; end++) {
      assert.throws(() => bodyOf(frame.subarray(0, end)), {
        code: "unavailable",
        message: /^Cannot read a frame: only \d+ of /,
      });
    }
  });

  it("reports trailing bytes", () => {
    assert.throws(() => bodyOf(Buffer.concat([frame, Buffer.of(0)])), {
      code: "unavailable",
      message: "Cannot read a frame: 1 bytes follow it",
    });
  });

  it("refuses a length over the limit before the bytes have arrived", () => {
    const announced = bytes("01100000");
    assert.throws(() => bodyOf(announced), { code: "limit", message: /17825792 bytes/ });
  });
});

describe("hostile bytes", () => {
  const read = (body: Uint8Array): string => {
    try {
      decodeRequest(body);
      return "read";
    } catch (error) {
      if (error instanceof TrunklineError) return error.message;
      throw error;
    }
  };

  it("are refused with a message, or read, but cause no other failure", () => {
    const random = new SeededRandom(2);
    const outcomes = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      outcomes.add(read(random.bytes(random.below(64))));
      const good = bodyOf(encodeRequest(sampleMessage(random, PluginRequestSchema)));
      outcomes.add(read(good.subarray(0, random.below(good.length + 1))));
      const bad = Buffer.from(good);
      for (let times = random.below(4); times >= 0 && bad.length > 0; times--) {
        bad[random.below(bad.length)] = random.below(256);
      }
      outcomes.add(read(bad));
    }
    assert.ok(outcomes.has("read"));
    assert.ok(outcomes.size > 20, `only ${outcomes.size} different outcomes`);
  });

  const cases: [name: string, body: Buffer, says: string][] = [
    ["a field 0", bytes("0000"), "illegal tag: field no 0 wire type 0"],
    ["another wire type", bytes("0801"), "field 1 of PluginRequest has wire type 0"],
    ["a group", bytes("fb01"), "field 31 of PluginRequest has wire type 3"],
    ["too long a child", bytes("a2017f", "0a0161"), "it ends inside field 20 of PluginRequest"],
    [
      "a child longer than its parent",
      bytes("a20103", "0a0561", "0a026161"),
      "it ends inside field 1 of ToolRequest",
    ],
    ["a length without end", bytes("0a", "ff".repeat(11)), "invalid varint"],
    ["a length of more than 32 bits", bytes("0affffffff7f"), "premature EOF"],
    ["a number without end", bytes("9006", "ff".repeat(11)), "invalid varint"],
    ["a number that is cut off", bytes("9006ff"), "premature EOF"],
    ["arguments twice", bytes("a20104", "1200", "1200"), "field 2 of ToolRequest is there twice"],
    ["a call twice", bytes("a20100", "a20100"), "field 20 of PluginRequest is there twice"],
  ];
  for (const [name, body, says] of cases) {
    it(`with ${name} are refused with that reason`, () => {
      assert.equal(read(body), `Cannot read a PluginRequest: ${says}`);
    });
  }

  it("that are not UTF-8 are refused", () => {
    assert.match(read(bytes("0a02c328")), /^Cannot read a PluginRequest: .*(?:encoded|utf-8)/i);
  });

  it("with numbers that are not finite are refused", () => {
    for (const number of [NaN, Infinity, -Infinity]) {
      const body = Buffer.from(bodyOf(calling({ n: 1.5 })));
      body.writeDoubleLE(number, body.indexOf(bytes("000000000000f83f")));
      assert.match(read(body), /not finite/);
    }
    assert.equal(read(bodyOf(calling({ n: Number.MAX_VALUE }))), "read");
  });

  it("that would expand to far more than their size are refused", () => {
    const before = process.memoryUsage().heapUsed;
    // A list of JSON with as many nulls as a frame has room for, two bytes each.
    const list = Buffer.alloc(MAX_FRAME - 64, bytes("0a00"));
    const body = wrap(wrap(wrap(wrap(wrap(list, 6), 2), 1), 2), 20);
    assert.ok(body.length <= MAX_FRAME);
    assert.match(read(body), /made of more than 100000 parts/);
    // Fields that nobody knows are kept, so they cost too.
    assert.match(read(Buffer.alloc(MAX_FRAME - 1, bytes("980601"))), /more than 100000 parts/);
    assert.ok(process.memoryUsage().heapUsed - before < 100_000_000);
  });

  it("that are nested too deeply are refused", () => {
    let body: Uint8Array = Buffer.alloc(0);
    for (let level = 0; level < 5_000; level++) body = wrap(wrap(body, 1), 6);
    assert.match(read(wrap(wrap(wrap(wrap(body, 2), 1), 2), 20)), /256 levels/);
  });

  it("that announce a frame over the limit are refused unread", () => {
    assert.throws(() => decodeRequest(Buffer.alloc(MAX_FRAME + 1)), { code: "limit" });
  });
});

/** A body as field `number` of another. */
function wrap(body: Uint8Array, number: number): Buffer {
  const head: number[] = [];
  for (let rest of [number * 8 + 2, body.length]) {
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) head.push((rest % 128) | 0x80);
    head.push(rest);
  }
  return Buffer.concat([Buffer.from(head), body]);
}

function nested(levels: number): object {
  let value: object = {};
  for (let level = 1; level < levels; level++) value = { a: value };
  return value;
}
