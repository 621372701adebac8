import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { cataloguePath, hashOf, sourceOf } from "./catalogue-key.ts";

describe("hashOf()", () => {
  it("differs for different texts, wherever they differ", () => {
    const text = "npx -y @example/server --root /home/me/é…\u{1f600}";
    const texts = [text, `${text} `, `${text}\0`, "", "\0", "\0\0\0\0", "a", "ab", "abc", "abcd"];
    for (let at = 0; at < text.length; at++) {
      texts.push(text.slice(0, at), `${text.slice(0, at)}~${text.slice(at + 1)}`);
    }
    for (let number = 0; number < 20_000; number++) texts.push(`s${number}`);
    const all = new Set(texts);
    assert.equal(new Set(Array.from(all, hashOf)).size, all.size);
    assert.equal(hashOf(text), hashOf(text));
    assert.match(hashOf(text), /^[0-9a-f]{16}$/);
  });
});

describe("sourceOf()", () => {
  it("distinguishes programs and URLs, but does not use what may be secret", () => {
    const source = (...settings: Parameters<typeof sourceOf>) =>
      JSON.stringify(sourceOf(...settings));
    assert.equal(source({ command: "a", env: { KEY: "x" } }), source({ command: "a", args: [] }));
    assert.equal(source({ url: "http://a/", headers: { a: "b" } }), source({ url: "http://a/" }));
    assert.notEqual(source({ command: "a", args: ["b"] }), source({ command: "a" }));
    assert.notEqual(source({ command: "a", cwd: "/" }), source({ command: "a" }));
  });
});

describe("cataloguePath()", () => {
  it("stays in its folder, whatever the server is called", () => {
    assert.equal(cataloguePath("/data", "../a b"), "/data/..%2Fa%20b.json");
  });
});
