import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { definePlugin } from "./define-plugin.ts";

describe("definePlugin()", () => {
  it("has a manifest of what it offers and needs", () => {
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
});
