import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { callParts, heldId, ID_FIRST, ID_LAST } from "./call-text.ts";

const CALL = `"method":"tools/call","params":{"name":"t-1","arguments":{"a":"b","c":[{}]}}`;
const FIRST = `{"jsonrpc":"2.0","id":7,${CALL}}`;
const LAST = `{${CALL},"jsonrpc":"2.0","id":"x-7"}`;
const META_VERSION = "io.modelcontextprotocol/protocolVersion";
const META = `{"progressToken":7,"vendor/call":{"a":[]}}`;
const WITH_META = LAST.replace("]}}", `]},"_meta":${META}}`);

/** What is read of a text, if it is read and its arguments are JSON. */
function read(
  text: string,
): { id: unknown; name: unknown; args: unknown; meta: unknown } | undefined {
  const first = ID_FIRST.exec(text);
  const last = first === null ? ID_LAST.exec(text) : null;
  const [, ...parts] = first ?? last ?? [];
  if (parts.length === 0) return undefined;
  const [id = "", name, args = ""] = first === null ? [parts[2], parts[0], parts[1]] : parts;
  const found = callParts(args);
  if (found === undefined) return undefined;
  assert.deepEqual(JSON.parse(found.json), found.args);
  return { id: JSON.parse(id) as unknown, name, args: found.args, meta: found.meta };
}

describe("the text of a call", () => {
  it("is read in both spellings", () => {
    const args = { a: "b", c: [{}] };
    const meta = undefined;
    assert.deepEqual(read(FIRST), { id: 7, name: "t-1", args, meta });
    assert.deepEqual(read(LAST), { id: "x-7", name: "t-1", args, meta });
    const known = JSON.parse(META) as unknown;
    assert.deepEqual(read(WITH_META), { id: "x-7", name: "t-1", args, meta: known });
  });

  it("says the same when it is parsed", () => {
    const chance = new SeededRandom(17);
    let count = 0;
    for (let round = 0; round < 20_000; round++) {
      const whole = chance.pick([FIRST, LAST, WITH_META]);
      const at = chance.below(whole.length);
      const odd = chance.pick([
        '"',
        "\\",
        "\u0001",
        "{",
        "}",
        ",",
        "",
        "0",
        '"x":1,',
        " ",
        "]",
        ',"_meta":{}',
      ]);
      const text = whole.slice(0, at) + odd + whole.slice(at + chance.below(2));
      const found = read(text);
      if (found === undefined) continue;
      count++;
      // Throws where the text is not JSON.
      const { id, method, params, ...rest } = JSON.parse(text) as Record<string, unknown>;
      assert.deepEqual(rest, { jsonrpc: "2.0" }, text);
      assert.equal(method, "tools/call", text);
      const { name, args, meta } = found;
      const all = { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) };
      assert.deepEqual(params, all, text);
      assert.equal(found.id, id, text);
    }
    assert.ok(count > 500, `${count} were read`);
  });

  for (const [what, text] of [
    ["a progress token of another kind", FIRST.replace(/\}\}$/, ',"_meta":{"progressToken":{}}}}')],
    ["a description of its client", FIRST.replace(/\}\}$/, `,"_meta":{"${META_VERSION}":"x"}}}`)],
    ["a task beside `_meta`", WITH_META.replace(',"_meta"', ',"task":{},"_meta"')],
    ["`_meta` twice", WITH_META.replace(',"_meta"', ',"_meta":{},"_meta"')],
    ["a task", FIRST.replace(/\}\}$/, ',"task":{}}}')],
    ["a second name", FIRST.replace(/\}\}$/, ',"name":"other"}}')],
    ["a second id", LAST.replace(/\}$/, ',"id":8}')],
    ["another method", FIRST.replace("tools/call", "tools/list")],
    ["a name with an escape", FIRST.replace("t-1", String.raw`t\u002d1`)],
    ["an id beyond what a number holds", FIRST.replace("7", "12345678901234567")],
    ["a batch", `[${FIRST}]`],
  ] as const) {
    it(`is left to the parser: ${what}`, () => assert.equal(read(text), undefined));
  }
});

it("an id is held as a number or as the JSON of a text", () => {
  assert.deepEqual(["7", '"7"', 7].map(heldId), [7, '"7"', 7]);
});
