import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ArgumentsOf } from "./definition.ts";
import { definePlugin } from "./define-plugin.ts";
import type { FromSchema } from "./from-schema.ts";

// The compiler takes two such functions for the same only if A and B are the same.
type Is<A> = <T>() => T extends A ? 1 : 2;
type Equal<A, B> = Is<A> extends Is<B> ? true : false;

/** Compiles only if both are the same type. */
function same<A, B>(...problem: Equal<A, B> extends true ? [] : [never]): void {
  assert.equal(problem.length, 0);
}

describe("FromSchema", () => {
  it("has the types of JSON", () => {
    same<FromSchema<{ type: "string" }>, string>();
    same<FromSchema<{ type: "number" }>, number>();
    same<FromSchema<{ type: "integer" }>, number>();
    same<FromSchema<{ type: "boolean" }>, boolean>();
    same<FromSchema<{ type: "null" }>, null>();
    same<FromSchema<{ type: "array" }>, unknown[]>();
    same<FromSchema<{ type: "object" }>, Record<string, unknown>>();
    same<FromSchema<{ description: "anything" }>, unknown>();
    // @ts-expect-error They are not the same.
    same<FromSchema<{ type: "string" }>, number>();
  });

  it("distinguishes required members from optional ones", () => {
    type Schema = {
      readonly type: "object";
      readonly properties: { readonly a: { type: "string" }; readonly b: { type: "integer" } };
      readonly required: readonly ["a"];
    };
    same<FromSchema<Schema>, { a: string; b?: number }>();
  });

  it("handles lists, objects and maps", () => {
    same<FromSchema<{ type: "array"; items: { type: "boolean" } }>, boolean[]>();
    same<
      FromSchema<{ type: "object"; additionalProperties: { type: "number" } }>,
      Record<string, number>
    >();
    type Deep = {
      properties: { list: { items: { const: 1 }; type: "array" } };
      required: ["list"];
    };
    same<FromSchema<Deep>, { list: 1[] }>();
  });

  it("handles enum and const, and the alternatives of oneOf and anyOf", () => {
    same<FromSchema<{ enum: readonly ["a", 2] }>, "a" | 2>();
    same<FromSchema<{ const: "x" }>, "x">();
    same<FromSchema<{ oneOf: [{ type: "string" }, { type: "number" }] }>, string | number>();
    same<FromSchema<{ anyOf: [{ const: 1 }, { type: "null" }] }>, 1 | null>();
  });

  it("handles null among types, and nullable", () => {
    same<FromSchema<{ type: readonly ["string", "null"] }>, string | null>();
    same<FromSchema<{ type: "string"; nullable: true }>, string | null>();
  });

  it("accepts anything without a schema", () => {
    same<ArgumentsOf<unknown>, Record<string, unknown>>();
  });
});

describe("definePlugin()", () => {
  it("derives the types of arguments from the schemas", () => {
    const plugin = definePlugin({
      id: "types",
      version: "1.0.0",
      tools: {
        called: {
          description: "",
          input: {
            type: "object",
            properties: { name: { type: "string" }, kind: { enum: ["a", "b"] } },
            required: ["name"],
          },
          call: (args, context) => {
            same<typeof args, { name: string; kind?: "a" | "b" }>();
            same<typeof context.signal, AbortSignal>();
            return args.name;
          },
        },
        streamed: {
          description: "",
          input: {
            type: "object",
            properties: { lines: { type: "integer" } },
            required: ["lines"],
          },
          async *stream({ lines }) {
            same<typeof lines, number>();
            yield String(lines);
          },
        },
        free: { description: "", call: ({ anything }) => same<typeof anything, unknown>() },
      },
      prompts: {
        review: {
          arguments: { topic: { required: true }, tone: {} },
          get: (args) => {
            same<typeof args.topic, string>();
            same<typeof args.tone, string | undefined>();
            return args.topic;
          },
        },
      },
    });
    assert.deepEqual(plugin.manifest.provides_tools, ["called", "streamed", "free"]);
  });

  it("does not compile with wrong types", () => {
    assert.throws(() =>
      definePlugin({
        id: "types",
        version: "1.0.0",
        tools: {
          // @ts-expect-error It neither answers at once nor in pieces.
          silent: { description: "" },
        },
      }),
    );
    definePlugin({
      id: "types",
      version: "1.0.0",
      tools: {
        // @ts-expect-error A number is no answer.
        number: { description: "", call: () => 5 },
        typo: {
          description: "",
          input: { type: "object", properties: { a: { type: "number" } } },
          // @ts-expect-error There is no such argument.
          call: ({ b }) => String(b),
        },
      },
    });
  });
});
