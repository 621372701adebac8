import { create, equals, fromBinary, type JsonObject, toBinary } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { sampleMessage } from "../../../../test/samples/sample-message.ts";
import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { PREFIX } from "../../../wire/framing/length-prefixed.ts";
import {
  PluginRequestSchema,
  PluginResponseSchema,
  ToolRequestSchema,
  ToolResponseSchema,
} from "../plugin.gen.ts";
import { toolRequestFrame, toolResponseFrame } from "./tool-frame.ts";
import { readPlainAnswer, readToolRequest, readToolResponse } from "./tool-message.ts";

const ROUNDS = 500;

function requestOf(args: JsonObject, requestId = "1") {
  const value = { toolName: "t", arguments: args };
  return create(PluginRequestSchema, { requestId, request: { case: "toolCall", value } });
}

describe("frames of tool calls", () => {
  it("have the bytes that the library writes, and are read as the library reads them", () => {
    const random = new SeededRandom(5);
    for (let round = 0; round < ROUNDS; round++) {
      const requestId = round % 3 === 0 ? "" : `id-${round}`;
      const call = sampleMessage(random, ToolRequestSchema);
      const request = create(PluginRequestSchema, {
        ...{ requestId, request: { case: "toolCall", value: call } },
      });
      const asked = toBinary(PluginRequestSchema, request);
      assert.deepEqual(toolRequestFrame(request)?.subarray(PREFIX), Buffer.from(asked));
      const read = readToolRequest(asked);
      assert.ok(read !== undefined && equals(PluginRequestSchema, read, request), `${round}`);
      const answer = sampleMessage(random, ToolResponseSchema);
      const response = create(PluginResponseSchema, {
        ...{ requestId, response: { case: "toolCall", value: answer } },
      });
      const told = toBinary(PluginResponseSchema, response);
      assert.deepEqual(toolResponseFrame(response)?.subarray(PREFIX), Buffer.from(told));
      const heard = readToolResponse(told);
      assert.ok(heard !== undefined && equals(PluginResponseSchema, heard, response), `${round}`);
    }
  });

  it("may be larger than the writer's buffer, several times in turn with small ones", () => {
    for (const size of [10, 70_000, 1_500_000, 20, 200_000]) {
      const request = requestOf({ text: "ä€𝄞x".repeat(size / 4), list: Array(size / 10).fill(1) });
      const body = toBinary(PluginRequestSchema, request);
      assert.deepEqual(toolRequestFrame(request)?.subarray(PREFIX), Buffer.from(body));
      assert.deepEqual(readToolRequest(body), request);
    }
  });

  it("leave out members without a value, as JSON does", () => {
    const given = { a: 1, b: undefined, c: { d: undefined } } as unknown as JsonObject;
    const frame = toolRequestFrame(requestOf(given))?.subarray(PREFIX) ?? Buffer.alloc(0);
    const { request } = fromBinary(PluginRequestSchema, frame);
    const { arguments: args } = request.value as { arguments?: JsonObject };
    assert.deepEqual(args, { a: 1, c: {} });
  });

  it("leave nothing of a message that could not be written in the next one", () => {
    const wrong = requestOf({ text: "left behind", wrong: 1n as unknown as number });
    assert.throws(() => toolRequestFrame(wrong), /a bigint is no value of JSON/);
    const next = requestOf({});
    const body = Buffer.from(toBinary(PluginRequestSchema, next));
    assert.deepEqual(toolRequestFrame(next)?.subarray(PREFIX), body);
  });

  it("are left to the library where something in them is not usual", () => {
    const unusual = [
      ["a field of a newer schema", "a2010a0a01749a06026869"],
      ["a field of a newer schema beside the call", "a2010312010a980601"],
      ["another order of fields", "a201020a000a0131"],
      ["a member without a value", "a2010712050a030a0161"],
      ["a value without a kind", "a2010912070a050a01611200"],
      ["a value before its key", "a2010b12090a07120220010a0161"],
      ["two kinds of one value", "a2010d120b0a090a0161120420012000"],
    ] as const;
    for (const [name, hex] of unusual) {
      assert.equal(readToolRequest(Buffer.from(hex, "hex")), undefined, name);
    }
    const others = create(PluginRequestSchema, { request: { case: "listTools", value: {} } });
    assert.equal(readToolRequest(toBinary(PluginRequestSchema, others)), undefined);
    assert.equal(toolRequestFrame(others), undefined);
    const newer = fromBinary(PluginRequestSchema, Buffer.from("a201059a06026869", "hex"));
    assert.equal(toolRequestFrame(newer), undefined);
  });

  it("are read as one text where they are the answer to this call and nothing but that text", () => {
    const answer = (result: JsonObject, more: object = {}, requestId = "id-1"): Buffer => {
      const value = { success: true, result, ...more };
      const response = { requestId, response: { case: "toolCall", value } } as const;
      return Buffer.from(toBinary(PluginResponseSchema, create(PluginResponseSchema, response)));
    };
    for (const text of [
      "",
      "t",
      "\ufeffä€𝄞",
      "x".repeat(127),
      "x".repeat(128),
      "x".repeat(70_000),
    ]) {
      assert.equal(readPlainAnswer(answer({ text }), "id-1"), text);
      assert.equal(readPlainAnswer(answer({ text }, {}, ""), "id-1"), text);
    }
    const plain = answer({ text: "text" });
    const others = {
      "that of another call": answer({ text: "t" }, {}, "id-2"),
      "a failure": answer({ text: "t" }, { success: false }),
      "a success that has an error": answer({ text: "t" }, { errorCode: "c" }),
      "another member": answer({ texts: "t" }),
      "two members": answer({ text: "t", more: 1 }),
      "a number": answer({ text: 1 }),
      "a list": answer({ text: ["t"] }),
      nothing: answer({}),
      "a field of a newer schema": Buffer.concat([plain, Buffer.from("9a06026869", "hex")]),
      "a text that is not UTF-8": Buffer.concat([plain.subarray(0, -1), Buffer.from([0xc3])]),
    };
    for (const [name, body] of Object.entries(others)) {
      assert.equal(readPlainAnswer(body, "id-1"), undefined, name);
    }
    for (let length = 0; length < plain.length; length++) {
      assert.equal(readPlainAnswer(plain.subarray(0, length), "id-1"), undefined, `${length}`);
    }
  });

  it("are read as one text only if the library reads the same, whatever byte is wrong", () => {
    const value = { success: true, result: { text: "some text" } };
    const response = { requestId: "1", response: { case: "toolCall", value } } as const;
    const body = Buffer.from(
      toBinary(PluginResponseSchema, create(PluginResponseSchema, response)),
    );
    let read = 0;
    for (let at = 0; at < body.length; at++) {
      for (let byte = 0; byte < 256; byte++) {
        const changed = Buffer.from(body);
        changed[at] = byte;
        const text = readPlainAnswer(changed, "1");
        if (text === undefined) continue;
        read++;
        const { response: library } = fromBinary(PluginResponseSchema, changed);
        const expected = create(ToolResponseSchema, { ...value, result: { text } });
        assert.deepEqual(library.value, expected);
      }
    }
    assert.ok(read > body.length, `${read}`);
  });

  it("refuse a text that is not UTF-8, a short one too", () => {
    for (const length of [2, 60]) {
      const text = Buffer.alloc(length, "a");
      text[length - 1] = 0xc3;
      const call = Buffer.concat([Buffer.from([0x0a, length]), text]);
      const body = Buffer.concat([Buffer.from([0xa2, 0x01, call.length]), call]);
      assert.throws(() => readToolRequest(body), TypeError);
    }
  });
});
