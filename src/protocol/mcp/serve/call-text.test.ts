import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { ID_FIRST, ID_LAST } from "./call-text.ts";

const CALL = `"method":"tools/call","params":{"name":"t-1","arguments":{"a":"b","c":[{}]}}`;
const FIRST = `{"jsonrpc":"2.0","id":7,${CALL}}`;
const LAST = `{${CALL},"jsonrpc":"2.0","id":"x-7"}`;

/** What is read of a text, if it is read and its arguments are JSON. */
function read(text: string): { id: unknown; name: unknown; args: unknown } | undefined {
  const first = ID_FIRST.exec(text);
  const last = first === null ? ID_LAST.exec(text) : null;
  const [, ...parts] = first ?? last ?? [];
  if (parts.length === 0) return undefined;
  const [id = "", name, args = ""] = first === null ? [parts[2], parts[0], parts[1]] : parts;
  try {
    return { id: JSON.parse(id) as unknown, name, args: JSON.parse(args) as unknown };
  } catch {
    return undefined;
  }
}

describe("the text of a call", () => {
  it("is read in both spellings", () => {
    const args = { a: "b", c: [{}] };
    assert.deepEqual(read(FIRST), { id: 7, name: "t-1", args });
    assert.deepEqual(read(LAST), { id: "x-7", name: "t-1", args });
  });

  it("says the same when it is parsed", () => {
    const chance = new SeededRandom(17);
    let count = 0;
    for (let round = 0; round < 20_000; round++) {
      const whole = chance.pick([FIRST, LAST]);
      const at = chance.below(whole.length);
      const odd = chance.pick(['"', "\\", "\u0001", "{", "}", ",", "", "0", '"x":1,', " ", "]"]);
      const text = whole.slice(0, at) + odd + whole.slice(at + chance.below(2));
      const found = read(text);
      if (found === undefined) continue;
      count++;
      // Throws where the text is not JSON.
      const { id, method, params, ...rest } = JSON.parse(text) as Record<string, unknown>;
      assert.deepEqual(rest, { jsonrpc: "2.0" }, text);
      assert.equal(method, "tools/call", text);
      assert.deepEqual(params, { name: found.name, arguments: found.args }, text);
      assert.equal(found.id, id, text);
    }
    assert.ok(count > 500, `${count} were read`);
  });

  for (const [what, text] of [
    ["a progress token", FIRST.replace(/\}\}$/, ',"_meta":{"progressToken":{}}}}')],
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
