import assert from "node:assert/strict";
import { test } from "node:test";
import { packOf } from "./pack.ts";

test("packOf() says in its index where each part is, behind its name", () => {
  const { bytes, index } = packOf(
    new Map<string, Uint8Array | string>([
      ["a.js", "één"],
      ["b.js", Buffer.from("two")],
    ]),
  );
  const textAt = (name: string, at: number, length: number): string => {
    const head = `${name}\n`;
    const part = Buffer.from(bytes.subarray(at, at + head.length + length)).toString();
    assert.ok(part.startsWith(head), part);
    return part.slice(head.length);
  };
  const places = JSON.parse(textAt("index", ...index)) as [string, [number, number]][];
  const texts = places.map(([name, place]) => [name, textAt(name, ...place)]);
  assert.deepEqual(texts, [
    ["a.js", "één"],
    ["b.js", "two"],
  ]);
});

test("packOf() gives another name to other contents, and the same to the same", () => {
  const name = (text: string): string => packOf(new Map([["a.js", text]])).name;
  assert.equal(name("one"), name("one"));
  assert.notEqual(name("one"), name("two"));
});
