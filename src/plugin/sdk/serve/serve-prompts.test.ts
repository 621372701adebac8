import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../../test/support/requirement.ts";
import { definePlugin } from "../define-plugin.ts";
import { testPlugin } from "../test/test-plugin.ts";
import { ToolError } from "../tool-error.ts";

const plugin = definePlugin({
  id: "prompts.sample",
  version: "1.0.0",
  prompts: {
    plan: {
      arguments: { of: { required: true }, tone: {} },
      get: ({ of, tone = "plain" }) => `Plan ${of}, ${tone}`,
    },
    talk: {
      get: () => [
        { role: "user", text: "Hello" },
        { role: "assistant", text: "Hello to you" },
      ],
    },
    refused: {
      get: () => {
        throw new ToolError("not_today", "Come back tomorrow");
      },
    },
  },
});

describe("servePrompts()", () => {
  it("converts a text into one user message, and returns a list unchanged", async () => {
    covers("bus.prompts");
    await using harness = await testPlugin(plugin);
    assert.deepEqual(await harness.prompt("plan", { of: "today" }), [
      { role: "user", text: "Plan today, plain" },
    ]);
    assert.deepEqual(
      (await harness.prompt("talk")).map(({ role }) => role),
      ["user", "assistant"],
    );
  });

  it("names the missing argument, or the unknown prompt", async () => {
    await using harness = await testPlugin(plugin);
    await assert.rejects(harness.prompt("plan", { tone: "grand" }), {
      code: "validation_error",
      message: "'of' is missing",
    });
    await assert.rejects(harness.prompt("nothing"), { code: "prompt_not_found" });
  });

  it("reports why a prompt failed", async () => {
    await using harness = await testPlugin(plugin);
    await assert.rejects(harness.prompt("refused"), { code: "not_today", message: /tomorrow/ });
  });
});
