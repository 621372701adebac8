import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { definePlugin } from "./define-plugin.ts";
import type { PluginDefinition } from "./definition.ts";

describe("definePlugin()", () => {
  it("says of itself what it offers and needs", () => {
    const { manifest } = definePlugin({
      id: "tools.all",
      version: "2.1.0",
      description: "All of it",
      author: "Ada",
      tools: {
        one: { description: "", call: () => "" },
        two: { description: "", stream: () => [] },
      },
      prompts: { ask: { get: () => "" } },
      events: { saved: () => {} },
      provides: { events: ["done"], ai: ["claude"] },
      needs: { tools: ["git_diff"], storage: ["notes"], ai: ["openai"] },
    });
    assert.deepEqual(manifest, {
      id: "tools.all",
      version: "2.1.0",
      language: "typescript",
      description: "All of it",
      author: "Ada",
      provides_tools: ["one", "two"],
      provides_prompts: ["ask"],
      provides_events: ["done"],
      provides_storage: [],
      provides_ai: ["claude"],
      needs_tools: ["git_diff"],
      needs_events: ["saved"],
      needs_storage: ["notes"],
      needs_ai: ["openai"],
    });
  });

  const good = { id: "x", version: "1" };
  const wrong: [why: RegExp, definition: object][] = [
    [/plugin 'undefined': an id is/, { version: "1" }],
    [/plugin 'a b': an id is/, { ...good, id: "a b" }],
    [/plugin '\.\.\/x': an id is/, { ...good, id: "../x" }],
    [/plugin 'ca': an id is/, { ...good, id: "ca" }],
    [/plugin 'x': it has no version/, { id: "x" }],
    [/tool 'a' has neither 'call' nor 'stream'/, { ...good, tools: { a: { description: "" } } }],
    [/tool 'a' has no description/, { ...good, tools: { a: { call: () => "" } } }],
    [/'a b' is no name for a tool/, { ...good, tools: { "a b": { description: "" } } }],
    [
      /input of tool 'a' must be of type 'object'/,
      { ...good, tools: { a: { description: "", call: () => "", input: { type: "string" } } } },
    ],
    [/prompt 'p' has no 'get'/, { ...good, prompts: { p: {} } }],
    [/event 'e' has no handler/, { ...good, events: { e: { filters: {} } } }],
  ];
  for (const [message, definition] of wrong) {
    it(`refuses a definition: ${message.source}`, () => {
      const define = (): unknown => definePlugin(definition as PluginDefinition);
      assert.throws(define, { code: "usage", message });
    });
  }
});
