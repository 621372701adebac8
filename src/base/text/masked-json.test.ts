import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { mask } from "./mask.ts";
import { maskedJson, maskedJsonOf } from "./masked-json.ts";

const X = "x".repeat(40);
const NAMES = [
  ...["token", "ACCESS_TOKEN", "clientSecret", "password", "PASSWD", "passphrase", "apiKey"],
  ...["x-api-key", "private_key", "credentials", "Set-Cookie", "Authorization", "pin", "bearer"],
  "auth",
];
const SHAPES = [
  ...[`ghp_${X}`, `github_pat_${X}`, `tlk_${X}`, `glpat-${X}`, `ATBB${X}`, `sk-${X}`, `xoxb-${X}`],
  ...[`AKIA${"A".repeat(16)}`, `AIza${X}`, `npm_${X}`, `ey${X}.ey${X}.${X}`, `Bearer ${X}`],
  ...[`basic ${X}`, "https://me:pass@host/", "https://h/?my_token=abc", `Basic ${X}`],
  "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
];

function deep(levels: number): unknown {
  return levels === 0 ? 1 : [deep(levels - 1)];
}

describe("maskedJson()", () => {
  it("masks all that mask() does", () => {
    const values = [
      ...NAMES.map((name) => ({ [name]: "abc" })),
      ...NAMES.map((name) => ({ env: [{ name, value: "abc" }] })),
      ...SHAPES.map((shape) => ({ text: `see ${shape} there` })),
      ...SHAPES.map((shape) => ({ [shape]: 1 })),
      { text: "long ".repeat(2000) },
      ...SHAPES.map((shape) => ({ text: `${"some words ".repeat(20)} ${shape}` })),
      ...NAMES.map((name) => ({ text: "some words ".repeat(20), [name]: "abc" })),
      ...Array.from({ length: 16 }, (_, levels) => ({ deep: deep(levels) })),
    ];
    for (const value of values) {
      const json = JSON.stringify(value);
      const expected = JSON.stringify(mask(value));
      assert.equal(maskedJson(json), expected, json.slice(0, 200));
      assert.equal(maskedJsonOf(value), expected, json.slice(0, 200));
    }
    const masked = values.filter((value) => JSON.stringify(mask(value)) !== JSON.stringify(value));
    assert.ok(
      masked.length >= values.length - 16,
      `${masked.length} of ${values.length} are masked`,
    );
  });

  it("sees secrets that are spelt with escapes", () => {
    const json = String.raw`{"p\u0061ssword":"abc"}`;
    assert.equal(maskedJson(json), `{"password":"•••"}`);
  });

  it("leaves the text as it is where there is nothing to mask", () => {
    const json = '{ "path" : "src/a.ts","n":1.0,"list":[1,{"ключ":"значение"}] }';
    assert.equal(maskedJson(json), json);
  });
});

describe("maskedJsonOf()", () => {
  it("says what mask() says, of values that JSON has and of others", () => {
    const circular: Record<string, unknown> = { text: "a" };
    circular.self = circular;
    const values: unknown[] = [
      { text: "some words ".repeat(30), n: 1, list: [true, null, { a: -0, b: [] }] },
      { maxTokens: 5, progressToken: "abc", tokens: 7, password: "", isPin: true },
      { name: "password", value: "abc" },
      { env: { name: "API_KEY", value: "abc" } },
      { name: "something", value: "abc" },
      JSON.parse('{"__proto__":{"text":"a"},"2":1,"1":2}'),
      Array.from({ length: 20_000 }, (_, number) => number),
      Object.fromEntries(Array.from({ length: 100 }, (_, number) => [`k${number}`, number])),
      Array.from({ length: 16 }, () => Array(16).fill(Array(16).fill("a"))),
      { at: new Date(0), bytes: Buffer.from("abc"), error: "e", map: new Map([["a", 1]]) },
      { toJSON: () => ({ password: "abc" }) },
      { left: undefined, list: [undefined, NaN, Infinity], big: 12n },
      Object.assign(Object.create({ inherited: "abc" }), { own: 1 }),
      circular,
      "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
      "",
      null,
    ];
    for (const [index, value] of values.entries()) {
      assert.equal(maskedJsonOf(value), JSON.stringify(mask(value)), `${index}`);
    }
  });
});
