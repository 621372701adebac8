import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CallContext } from "./context.ts";
import type { PluginDefinition } from "./definition.ts";
import { partsOf } from "./parts.ts";

describe("partsOf()", () => {
  const good = { id: "x", version: "1" };
  const wrong: [why: RegExp, definition: object][] = [
    [/plugin 'undefined': an id is/, { version: "1" }],
    [/plugin 'a b': an id is/, { ...good, id: "a b" }],
    [/plugin '\.\.\/x': an id is/, { ...good, id: "../x" }],
    [/plugin 'ca': an id is/, { ...good, id: "ca" }],
    [/plugin 'x': it has no version/, { id: "x" }],
    [/tool 'a' has neither 'call' nor 'stream'/, { ...good, tools: { a: { description: "" } } }],
    [/tool 'a' has no description/, { ...good, tools: { a: { call: () => "" } } }],
    [/'a b' is not a valid name for a tool/, { ...good, tools: { "a b": { description: "" } } }],
    [
      /input of tool 'a' must be of type 'object'/,
      { ...good, tools: { a: { description: "", call: () => "", input: { type: "string" } } } },
    ],
    [/prompt 'p' has no 'get'/, { ...good, prompts: { p: {} } }],
    [/event 'e' has no handler/, { ...good, events: { e: { filters: {} } } }],
  ];
  for (const [message, definition] of wrong) {
    it(`refuses a definition: ${message.source}`, () => {
      const parts = (): unknown => partsOf(definition as PluginDefinition);
      assert.throws(parts, { code: "usage", message });
    });
  }

  it("marks an idempotent tool beside its schema", () => {
    const call = () => "";
    const tools = {
      once: { description: "", call },
      twice: { description: "", call, idempotent: true, input: { required: ["a"] } },
    };
    const parts = partsOf({ ...good, tools });
    const once = parts.tools.get("once")?.definition;
    assert.deepEqual([once?.inputSchema, once?.annotations], [{ type: "object" }, undefined]);
    const twice = parts.tools.get("twice")?.definition;
    assert.deepEqual(twice?.inputSchema, { type: "object", required: ["a"] });
    assert.deepEqual(twice?.annotations, { idempotentHint: true });
  });

  it("calls handlers on the object that defines them, which may have state", async () => {
    class Counting {
      readonly id = "x";
      readonly version = "1";
      booted = 0;
      readonly tools = {
        count: {
          description: "",
          calls: 0,
          call(): string {
            return String(++this.calls);
          },
        },
      };
      boot(): void {
        this.booted++;
      }
    }
    const definition = new Counting();
    const parts = partsOf(definition);
    const { call } = parts.tools.get("count") ?? {};
    const context = {} as CallContext;
    assert.deepEqual([call?.({}, context), call?.({}, context)], ["1", "2"]);
    await parts.boot?.({}, context);
    assert.deepEqual([definition.booted, parts.health?.()], [1, "healthy"]);
  });
});
