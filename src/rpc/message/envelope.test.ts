import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { readElements, readEnvelope } from "./envelope.ts";

/** What an envelope says, with the texts that it points at. */
function read(text: string) {
  const { id, method, ...rest } = readEnvelope(text);
  const slice = (span: typeof id) =>
    span === undefined ? undefined : text.slice(span.from, span.to);
  return { id: slice(id), method: slice(method), ...rest };
}

const found = (id?: string, method?: string) => ({
  id,
  method,
  isResponse: false,
  isAmbiguous: false,
});

/** A value that is hard to skip, and holds all the words that matter. */
function hardValue(random: SeededRandom, depth = 0): unknown {
  const texts = ['"', "\\", '\\"', "}{", "][", '"id":7', "\n", "é🙂", ",", ":", "method", ""];
  const kind = random.below(depth > 3 ? 4 : 6);
  if (kind === 0) return Array.from({ length: 4 }, () => random.pick(texts)).join("");
  if (kind === 1) return random.below(1e9) / 7;
  if (kind < 4) return random.pick([null, true, false, 0, -1.5e-7]);
  const items = Array.from({ length: random.below(4) }, () => hardValue(random, depth + 1));
  if (kind === 4) return items;
  const keys = ["id", "method", "result", "error", '"', "\\", "a"];
  return Object.fromEntries(items.map((item) => [random.pick(keys), item]));
}

describe("readEnvelope", () => {
  it("finds the id and the method of an object, not those below", () => {
    const random = new SeededRandom(0xe7);
    for (let round = 0; round < 1000; round++) {
      const members: [string, unknown][] = [
        ["id", random.pick([1, "x", '"}', null, -0.5, { id: 2 }, [3], '\\"id\\":1'])],
        ["method", random.pick(["m", '"', "}", 5])],
        ["params", hardValue(random)],
        ["_meta", hardValue(random)],
        ["jsonrpc", "2.0"],
      ];
      const some = members.filter(() => !random.once(4)).toSorted(() => random.below(3) - 1);
      const object = Object.fromEntries(some);
      const text = JSON.stringify(object, null, random.pick(["", " ", "\t", "\n"]));
      const { id, method } = read(text);
      assert.equal(id && JSON.stringify(JSON.parse(id)), JSON.stringify(object.id), text);
      assert.equal(
        method && JSON.stringify(JSON.parse(method)),
        JSON.stringify(object.method),
        text,
      );
    }
  });

  it("returns values exactly as they are written", () => {
    const ids = ["12345678901234567890", "1.0", "-0", "1E+5", '"\\u0041"', "[ 1 ]", "{ }", "true"];
    for (const id of ids) assert.deepEqual(read(`{ "id" :\t${id}\n}`), found(id));
  });

  it("recognises a response, and a message that two parsers may read differently", () => {
    assert.equal(read(`{"id":1,"result":null}`).isResponse, true);
    assert.equal(read(`{"error":{},"id":1}`).isResponse, true);
    assert.equal(read(`{"id":1,"params":{"result":1},"x":["error"]}`).isResponse, false);
    const ambiguous = [
      `{"id":1,"id":1}`,
      `{"method":"a","x":1,"method":"b"}`,
      `{"\\u0069d":1}`,
      `{"a\\"b":1}`,
    ];
    for (const text of ambiguous) assert.equal(read(text).isAmbiguous, true, text);
    assert.equal(read(`{"id":1,"params":{"id":1,"id":2,"\\u0069d":3}}`).isAmbiguous, false);
    assert.equal(read(`{"id":1,"id":2}`).id, "2", "the last counts, as it does for JSON.parse");
  });

  it("finds in a truncated text what comes before the cut, and no half value", () => {
    const text = `{"jsonrpc":"2.0","id":"a\\"b","method":"m","params":{"id":5,"x":[1,"}"]},"z":12}`;
    for (let end = 0; end <= text.length; end++) {
      const { id, method } = read(text.slice(0, end));
      assert.equal(
        id,
        end >= text.indexOf(`,"method"`) ? `"a\\"b"` : undefined,
        text.slice(0, end),
      );
      assert.equal(method, end >= text.indexOf(`,"params"`) ? `"m"` : undefined);
    }
    assert.deepEqual(read(`{"id":123`), found(), "more digits may follow");
  });

  it("finds nothing in a text that is not an object, and never fails", () => {
    const texts = [
      "",
      " ",
      "null",
      "5",
      '"id"',
      "[",
      `[{"id":1}]`,
      "{",
      "{}",
      "{]",
      `{id:1}`,
      "{,",
    ];
    for (const text of texts) assert.deepEqual(read(text), found(), text);
    const random = new SeededRandom(0xbad);
    const bits = ["{", "}", "[", "]", '"', "\\", ",", ":", '"id"', '"id":', "1", " ", "x"];
    for (let round = 0; round < 5000; round++) {
      const text = Array.from({ length: random.below(30) }, () => random.pick(bits)).join("");
      const { id } = readEnvelope(text);
      if (id !== undefined) assert.ok(id.from >= 0 && id.to <= text.length && id.from <= id.to);
      readElements(text);
    }
  });
});

describe("readElements", () => {
  it("returns each element of an array as it is written", () => {
    const random = new SeededRandom(0xa44a);
    for (let round = 0; round < 300; round++) {
      const values = Array.from({ length: random.below(6) }, () => hardValue(random));
      const text = JSON.stringify(values, null, random.pick(["", "  "]));
      const elements = readElements(text);
      assert.deepEqual(
        elements.map((element) => JSON.parse(element) as unknown),
        JSON.parse(text),
      );
    }
    assert.deepEqual(readElements(` [ 1.0 , {"a":[]} ,"]"\n] `), ["1.0", `{"a":[]}`, `"]"`]);
  });
});
