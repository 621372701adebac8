import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { bodyOf, decodeRequest, encodeRequest } from "../codec.ts";
import { structText, toStruct } from "./json-struct.ts";
import { sampleJson } from "../../../../test/samples/sample-json.ts";

function overTheBus(value: unknown): unknown {
  const payload = toStruct(value, "payload");
  const frame = encodeRequest({ request: { case: "publish", value: { payload } } });
  const { request } = decodeRequest(bodyOf(frame));
  return request.case === "publish" ? request.value.payload : undefined;
}

function nested(levels: number): unknown {
  let value: unknown = {};
  for (let level = 2; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return { a: value };
}

describe("toStruct()", () => {
  it("carries every JSON value unchanged", () => {
    const random = new SeededRandom(3);
    for (let round = 0; round < 1_000; round++) {
      const json = sampleJson(random);
      assert.deepEqual(overTheBus(json), json, `round ${round}`);
    }
  });

  it("leaves out undefined members, and puts null in lists", () => {
    const value = { a: undefined, b: [1, undefined, { c: undefined }], d: 1 };
    assert.deepEqual(toStruct(value, "it"), { b: [1, null, {}], d: 1 });
    assert.ok("a" in value);
  });

  it("keeps a member named __proto__ beside one that is left out", () => {
    const value = JSON.parse(`{"__proto__":{"x":1},"a":{"__proto__":2}}`) as object;
    const read = overTheBus({ ...value, gone: undefined });
    assert.equal(JSON.stringify(read), JSON.stringify(value));
    assert.equal((read as { x?: number }).x, undefined);
  });

  const refused: [name: string, value: unknown, says: string][] = [
    ["NaN", { a: [0, { b: NaN }] }, "'args.a[1].b' is NaN, which JSON cannot express"],
    ["Infinity", { a: -Infinity }, "'args.a' is -Infinity, which JSON cannot express"],
    ["a bigint", { "a b": 1n }, `'args["a b"]' is a bigint, not a value of JSON`],
    ["a function", { f: () => {} }, "'args.f' is a function, not a value of JSON"],
    ["a date", { at: new Date() }, "'args.at' is an object of a class, not a value of JSON"],
    ["bytes", { at: Buffer.of(1) }, "'args.at' is an object of a class, not a value of JSON"],
    ["a list", [1], "'args' must be an object"],
    ["null", null, "'args' must be an object"],
  ];
  for (const [name, value, says] of refused) {
    it(`gives the path of ${name}`, () => {
      const message = `Cannot send this over the bus: ${says}`;
      assert.throws(() => toStruct(value, "args"), { code: "usage", message });
    });
  }

  it("accepts 256 levels and no more, however they come about", () => {
    assert.deepEqual(overTheBus(nested(256)), nested(256));
    const circle: Record<string, unknown> = {};
    circle.self = [circle];
    for (const value of [nested(257), circle]) {
      assert.throws(() => toStruct(value, "args"), { message: /nested more than 256 levels deep/ });
    }
  });

  it("cannot restore digits that a double does not have", () => {
    const value = JSON.parse(`{"id": 9007199254740993}`) as object;
    assert.deepEqual(overTheBus(value), { id: 9007199254740992 });
    assert.deepEqual(overTheBus({ id: "9007199254740993" }), { id: "9007199254740993" });
  });
});

describe("structText()", () => {
  it("sorts members by their bytes, at every level", () => {
    const value = { b: 1, a: [{ z: 1, y: 2 }], "10": 0, "9": 0, B: {}, "": null };
    assert.equal(structText(value), `{"":null,"10":0,"9":0,"B":{},"a":[{"y":2,"z":1}],"b":1}`);
    assert.equal(structText({ "\u{1f600}": 1, "\uffff": 2 }), `{"\uffff":2,"\u{1f600}":1}`);
  });

  it("has the same meaning as the value", () => {
    const random = new SeededRandom(4);
    for (let round = 0; round < 200; round++) {
      const json = sampleJson(random);
      assert.deepEqual(JSON.parse(structText(json)), json);
    }
  });

  it("leaves markup unchanged", () => {
    assert.equal(structText({ html: "<a href='?x&y'>" }), `{"html":"<a href='?x&y'>"}`);
  });
});
