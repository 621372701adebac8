import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { isApproval, isSame, keyOf, see } from "./approval.ts";

/** As it comes off the wire: `__proto__` is then a member like any other. */
const parsed = (text: string) => see({ name: "t", inputSchema: JSON.parse(text) as unknown });

describe("see()", () => {
  it("gives equal descriptions one fingerprint, whatever the order of their members", () => {
    const one = parsed('{"b":[1,{"d":null,"c":"x"}],"a":{"__proto__":1}}');
    const other = parsed('{"a":{"__proto__":1},"b":[1,{"c":"x","d":null}]}');
    assert.equal(one.fingerprint, other.fingerprint);
    assert.ok(isSame(one, other));
  });

  it("distinguishes what JSON distinguishes", () => {
    const texts = [
      '{"a":1}',
      '{"a":"1"}',
      '{"a":[1]}',
      '{"a":null}',
      "{}",
      '{"__proto__":{"a":1}}',
    ];
    const seen = texts.map(parsed);
    assert.equal(new Set(seen.map(({ fingerprint }) => fingerprint)).size, texts.length);
    for (const [index, one] of seen.entries()) {
      assert.deepEqual(
        seen.map((other) => isSame(one, other)),
        texts.map((_, at) => at === index),
      );
    }
  });

  it("leaves out members that nobody is shown", () => {
    const plain = see({ name: "t" });
    const more = see({ name: "t", _meta: { build: 7 }, title: undefined } as { name: string });
    assert.ok(isSame(plain, more));
    assert.equal(plain.fingerprint, more.fingerprint);
  });

  it("stores only the fingerprint of a long description, which still detects a change", () => {
    const long = see({ name: "t", description: "x".repeat(70_000) });
    const changed = see({ name: "t", description: `${"x".repeat(69_999)}y` });
    assert.equal(long.described, undefined);
    assert.equal(isSame(long, changed), false);
    assert.ok(isSame(long, see({ name: "t", description: "x".repeat(70_000) })));
  });
});

describe("keyOf()", () => {
  it("gives each pair of server and tool a different key", () => {
    assert.notEqual(keyOf("a", "b c"), keyOf("a b", "c"));
    assert.notEqual(keyOf('a","b', "c"), keyOf("a", 'b","c'));
  });
});

describe("isApproval()", () => {
  it("accepts what was written, and nothing with a member of another type", () => {
    const seen = { fingerprint: "f", time: "2026-01-01T00:00:00.000Z" };
    assert.ok(isApproval({ server: "s", name: "n" }));
    assert.ok(isApproval({ server: "s", name: "n", approved: seen, held: seen }));
    for (const value of [
      null,
      "text",
      { server: "s" },
      { server: 1, name: "n" },
      { server: "s", name: "n", approved: null },
      { server: "s", name: "n", approved: {} },
      { server: "s", name: "n", held: { fingerprint: 1 } },
    ]) {
      assert.equal(isApproval(value), false, JSON.stringify(value));
    }
  });
});
