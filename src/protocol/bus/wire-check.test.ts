import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";

import { PluginRequestSchema, ToolRequestSchema } from "./plugin.gen.ts";
import { checkWire, WireLimitError } from "./wire-check.ts";

const MAX_PARTS = 100_000;

function problemOf(bytes: number[]): string {
  try {
    checkWire(ToolRequestSchema, Uint8Array.from(bytes));
    return "none";
  } catch (error) {
    const kind = error instanceof WireLimitError ? "limit" : "malformed";
    return `${kind}: ${(error as Error).message}`;
  }
}

describe("checkWire()", () => {
  it("counts the parts of a message, a map key as several values", () => {
    const partsOf = (args: object) => {
      const message = create(ToolRequestSchema, { arguments: { ...args } });
      return checkWire(ToolRequestSchema, toBinary(ToolRequestSchema, message));
    };
    assert.equal(partsOf({}), 1);
    // Three for the key, one for its value.
    assert.equal(partsOf({ a: 1 }), 5);
    // A list is a part, and so is each of its items.
    assert.equal(partsOf({ a: 1, b: [true, null] }), 5 + 4 + 1 + 2);
  });

  it("refuses a field with the wire type of another, a field 0, and groups", () => {
    assert.equal(problemOf([0x08, 1]), "malformed: field 1 of ToolRequest has wire type 0");
    assert.match(problemOf([0x00]), /^malformed: illegal tag: field no 0/);
    assert.match(problemOf([0xfb, 0x07]), /has wire type 3/);
  });

  it("refuses a truncated value, and numbers that are too long", () => {
    assert.match(problemOf([0x0a, 5, 0x41]), /^malformed: premature EOF/);
    assert.match(problemOf([0x0a]), /^malformed: premature EOF/);
    // A struct of one byte whose entry claims two, which are there, but not in the struct.
    assert.match(problemOf([0x12, 2, 0x0a, 2, 0x0a, 0]), /it ends inside field 1 of Struct/);
    assert.match(problemOf([0x80, 0x80, 0x80, 0x80, 0x80, 1]), /illegal tag: .* overflows uint32/);
    const unknown = [0xf8, 0x07, ...Array<number>(10).fill(0x80), 1];
    assert.match(problemOf(unknown), /^malformed: invalid varint/);
  });

  it("refuses a message field that occurs twice, which the reader would merge", () => {
    const once = toBinary(
      PluginRequestSchema,
      create(PluginRequestSchema, {
        request: { case: "health", value: {} },
      }),
    );
    assert.throws(
      () => checkWire(PluginRequestSchema, Buffer.concat([once, once])),
      /is there twice/,
    );
  });

  it("refuses more parts than the limit, including unknown fields", () => {
    const unknown = [0xf8, 0x07, 1];
    const fill = (count: number) => Array.from({ length: count }, () => unknown).flat();
    assert.equal(problemOf(fill(MAX_PARTS)), "none");
    assert.match(problemOf(fill(MAX_PARTS + 1)), /^limit: it is made of more than/);
  });
});
