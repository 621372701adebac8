import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { describeProblem } from "../../src/base/check.ts";
import { compile } from "./compile.ts";
import { loadChecks } from "./load-checks.ts";

/** Keyword by keyword: a schema, values that are right, and values with what is said of them. */
const CASES: readonly {
  readonly schema: object;
  readonly right: readonly unknown[];
  readonly wrong: readonly (readonly [value: unknown, says: string])[];
}[] = [
  { schema: {}, right: [0, null, "x", [], {}], wrong: [] },
  {
    schema: { type: "string" },
    right: ["", "x"],
    wrong: [
      [1, "'it' must be a string"],
      [null, "'it' must be a string"],
    ],
  },
  {
    schema: { type: "number" },
    right: [0, -1.5],
    wrong: [
      ["1", "'it' must be a number"],
      [Infinity, "'it' must be a number"],
      [NaN, "'it' must be a number"],
    ],
  },
  {
    schema: { type: "integer" },
    right: [0, 3, 1e300],
    wrong: [
      [1.5, "'it' must be an integer"],
      ["1", "'it' must be an integer"],
    ],
  },
  { schema: { type: "boolean" }, right: [true, false], wrong: [[0, "'it' must be true or false"]] },
  { schema: { type: "null" }, right: [null], wrong: [[0, "'it' must be null"]] },
  {
    schema: { type: "array" },
    right: [[], [1]],
    wrong: [[{ length: 0 }, "'it' must be a list"]],
  },
  {
    schema: { type: "object" },
    right: [{}, { a: 1 }, Object.create(null)],
    wrong: [
      [[], "'it' must be an object"],
      [null, "'it' must be an object"],
    ],
  },
  {
    schema: { type: ["string", "integer", "null"], minLength: 1, minimum: 1 },
    right: ["x", 1, null],
    wrong: [
      [true, "'it' must be a string, an integer or null"],
      ["", "'it' must not be empty"],
      [0, "'it' must be at least 1"],
    ],
  },
  {
    schema: { type: "object", properties: { a: { type: "string" }, b: {} }, required: ["a", "c"] },
    right: [
      { a: "", c: null },
      { a: "", c: 0, d: 1 },
    ],
    wrong: [
      [{ c: 1 }, "'it.a' is missing"],
      [{ a: 1, c: 1 }, "'it.a' must be a string"],
      [{ a: "" }, "'it.c' is missing"],
    ],
  },
  {
    schema: {
      type: "object",
      properties: { command: { type: "string" }, args: {} },
      required: ["command"],
      additionalProperties: false,
    },
    right: [{ command: "x", args: 1 }],
    wrong: [
      [{ comand: "x" }, "'it.comand' is not a known key; did you mean 'command'?"],
      [{ command: "x", zebra: 1 }, "'it.zebra' is not a known key"],
      [{ command: "x", "a b": 1 }, `'it["a b"]' is not a known key`],
    ],
  },
  {
    schema: { type: "object", additionalProperties: false },
    right: [{}],
    wrong: [[{ a: 1 }, "'it.a' is not a known key"]],
  },
  {
    schema: {
      type: "object",
      properties: { a: { type: "string" } },
      additionalProperties: { type: "integer" },
    },
    right: [{ a: "x", b: 1 }],
    wrong: [[{ a: "x", b: "y" }, "'it.b' must be an integer"]],
  },
  {
    schema: { type: "array", items: { type: "array", items: { type: "string" } } },
    right: [[], [["x"], []]],
    wrong: [[[["x"], ["x", 1]], "'it[1][1]' must be a string"]],
  },
  {
    schema: { type: "string", enum: ["a", "b"] },
    right: ["a", "b"],
    wrong: [
      ["c", "'it' must be one of: a, b"],
      [1, "'it' must be one of: a, b"],
    ],
  },
  {
    schema: { enum: ["a", 1, null, true] },
    right: ["a", 1, null, true],
    wrong: [[false, "'it' must be one of: a, 1, null, true"]],
  },
  { schema: { const: "2.0" }, right: ["2.0"], wrong: [[2, `'it' must be "2.0"`]] },
  {
    schema: { type: "number", minimum: 0.5, maximum: 2 },
    right: [0.5, 2],
    wrong: [
      [0.4, "'it' must be at least 0.5"],
      [2.1, "'it' must be at most 2"],
    ],
  },
  {
    schema: { type: "string", minLength: 2, maxLength: 3 },
    right: ["ab", "abc", "😀😀", "😀😀😀", "\ud83d\ud83d"],
    wrong: [
      ["😀", "'it' must be at least 2 characters long"],
      ["abcd", "'it' must be at most 3 characters long"],
    ],
  },
  {
    schema: { type: "array", minItems: 2, maxItems: 3 },
    right: [
      [1, 2],
      [1, 2, 3],
    ],
    wrong: [
      [[1], "'it' must have at least 2 items"],
      [[1, 2, 3, 4], "'it' must have at most 3 items"],
    ],
  },
  {
    schema: { type: "array", minItems: 1, maxItems: 1 },
    right: [[1]],
    wrong: [
      [[], "'it' must not be empty"],
      [[1, 2], "'it' must have at most 1 item"],
    ],
  },
  {
    schema: { type: "string", pattern: '^\\p{L}/"$' },
    right: ['é/"'],
    wrong: [['1/"', "'it' must match the pattern ^\\p{L}/\"$"]],
  },
  {
    schema: { type: "string", pattern: "^a+$", "x-form": "one a or more" },
    right: ["aa"],
    wrong: [["b", "'it' must be one a or more"]],
  },
  {
    schema: { type: "string", format: "absolute-path" },
    right: ["/", "/a/b"],
    wrong: [
      ["", "'it' must be an absolute path"],
      ["a/b", "'it' must be an absolute path"],
      ["/a\0b", "'it' must be an absolute path"],
    ],
  },
  {
    schema: { type: "string", format: "uuid" },
    right: ["0b9e6a3c-1111-4222-8333-444455556666", "0B9E6A3C-1111-4222-8333-444455556666"],
    wrong: [
      ["0b9e6a3c111142228333444455556666", "'it' must be a UUID"],
      ["0b9e6a3c-1111-4222-8333-444455556666\n", "'it' must be a UUID"],
    ],
  },
  {
    schema: { type: "string", format: "uri" },
    right: ["https://example.com/a?b#c", "lazygit://messages", "file:///a", "urn:isbn:1"],
    wrong: [
      ["/a", "'it' must be a URI"],
      ["https://", "'it' must be a URI"],
      ["https://example.com/a b", "'it' must be a URI"],
    ],
  },
  {
    schema: { type: "string", description: "says", default: "x", "x-project": true },
    right: ["x"],
    wrong: [[1, "'it' must be a string"]],
  },
];

describe("compile()", () => {
  for (const [index, { schema, right, wrong }] of CASES.entries()) {
    it(`checks ${JSON.stringify(schema)}`, async () => {
      const check = (await loadChecks({ It: schema })).It;
      assert(check !== undefined, `case ${index} has no check`);
      for (const value of right) assert.equal(check(value), undefined, JSON.stringify(value));
      for (const [value, says] of wrong) {
        const problem = check(value);
        assert.equal(problem && describeProblem("it", problem), says);
      }
    });
  }

  it("follows a reference and names the way through it", async () => {
    const { Tree } = await loadChecks({
      Tree: {
        type: "object",
        properties: {
          name: { type: "string" },
          children: { type: "array", items: { $ref: "#Tree" } },
        },
        required: ["name"],
      },
    });
    assert.equal(Tree?.({ name: "a", children: [{ name: "b", children: [] }] }), undefined);
    const problem = Tree?.({ name: "a", children: [{ name: "b" }, { name: "c", children: [{}] }] });
    assert.deepEqual(problem, { path: ["children", 1, "children", 0, "name"], says: "is missing" });
  });

  it("counts own members only", async () => {
    const { It } = await loadChecks({
      It: {
        type: "object",
        properties: { cwd: { type: "string" }, constructor: { type: "string" } },
        required: ["cwd", "constructor"],
      },
    });
    const missing = { path: ["cwd"], says: "is missing" };
    assert.deepEqual(It?.(JSON.parse('{"__proto__":{"cwd":"/a"},"constructor":"x"}')), missing);
    assert.deepEqual(It?.(Object.create({ cwd: "/a" })), { path: [], says: "must be an object" });
    assert.deepEqual(It?.({ cwd: "/a" }), { path: ["constructor"], says: "is missing" });
    assert.equal(It?.({ cwd: "/a", constructor: "x" }), undefined);
  });

  it("refuses '__proto__' in a closed object", async () => {
    const { It } = await loadChecks({ It: { type: "object", additionalProperties: false } });
    const problem = It?.(JSON.parse('{"__proto__":{}}'));
    assert.deepEqual(problem, { path: ["__proto__"], says: "is not a known key" });
  });

  it("emits types and checks that pass the strictest settings", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-compile-"));
    const schemas = Object.fromEntries(CASES.map(({ schema }, i) => [`Case${i}`, schema]));
    const base = new URL("../../src/base", import.meta.url).pathname;
    await writeFile(join(folder.path, "schema.gen.ts"), compile({ ...schemas, ...UNIONS }, base));
    await writeFile(join(folder.path, "use.ts"), USE);
    const project = new URL("../../tsconfig.json", import.meta.url).pathname;
    const config = { extends: project, compilerOptions: { types: [] }, include: ["*.ts"] };
    await writeFile(join(folder.path, "tsconfig.json"), JSON.stringify(config));
    await writeFile(join(folder.path, "package.json"), `{ "type": "module" }`);
    await writeFile(join(folder.path, "process.d.ts"), "declare const process: any, URL: any;");
    const tsc = new URL("../../node_modules/.bin/tsc", import.meta.url).pathname;
    await promisify(execFile)(process.execPath, [tsc, "-p", folder.path]).catch((error) => {
      assert.fail(error.stdout);
    });
  });
});

const UNIONS = {
  Shape: {
    oneOf: [
      {
        type: "object",
        properties: { kind: { const: "circle" }, radius: { type: "number" } },
        required: ["kind", "radius"],
      },
      { $ref: "#Square" },
    ],
  },
  Square: {
    type: "object",
    properties: { kind: { const: "square" }, side: { type: "number" } },
    required: ["kind"],
  },
  Server: {
    anyOf: [
      { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
      { type: "object", properties: { url: { type: "string" } }, required: ["url"] },
      { type: "string" },
    ],
  },
  Named: {
    type: "object",
    properties: { name: { type: "string" } },
    required: ["name"],
    anyOf: [{ $ref: "#Shape" }, { type: "object", additionalProperties: { type: "string" } }],
  },
};

/** Fails to compile when a type is wider or narrower than its schema. */
const USE = `
import type { Case9, Server, Shape } from "./schema.gen.ts";
export const a: Case9 = { a: "x", c: 1 };
// @ts-expect-error
export const b: Case9 = { c: 1 };
// @ts-expect-error
export const c: Case9 = { a: 1, c: 1 };
export const d: Shape = { kind: "circle", radius: 1 };
// @ts-expect-error
export const e: Shape = { kind: "circle" };
export const f: Shape = { kind: "square" };
export const g: Server = "x";
export const h = (shape: Shape): number | undefined => shape.kind === "circle" ? shape.radius : shape.side;
`;
