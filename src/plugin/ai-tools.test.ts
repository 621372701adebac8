import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../test/support/requirement.ts";
import { SampleContext, sampleTool } from "../../test/samples/sample-context.ts";
import { type Tool, textResult } from "../tool/tool.ts";
import { aiTool } from "./plugin/plugin-tool.ts";
import { PROVIDER } from "./bus-context.ts";

function named(name: string): Tool {
  return sampleTool("prompt", () => textResult(name));
}

async function asked(tool: Tool, provider?: string): Promise<unknown> {
  const context = new SampleContext();
  Object.assign(context.meta, provider === undefined ? {} : { [PROVIDER]: provider });
  return (await tool.call({}, context)).content[0]?.text;
}

describe("aiTool()", () => {
  const openai = { providers: ["openai"], tool: named("openai") };
  const claude = { providers: ["claude", "anthropic"], tool: named("claude") };

  it("calls the tool of the named provider", async () => {
    covers("bus.route.ai");
    const tool = aiTool("prompt", [openai, claude]);
    assert.equal(await asked(tool, "openai"), "openai");
    assert.equal(await asked(tool, "anthropic"), "claude");
  });

  it("maps providers that are compatible with another", async () => {
    covers("bus.route.ai");
    const tool = aiTool("prompt", [claude, openai]);
    for (const provider of ["grok", "perplexity", "deepseek", "qwen", "kimi"]) {
      assert.equal(await asked(tool, provider), "openai");
    }
  });

  it("falls back to claude, then to any provider", async () => {
    covers("bus.route.ai");
    assert.equal(await asked(aiTool("prompt", [openai, claude]), "nobody"), "claude");
    assert.equal(await asked(aiTool("prompt", [openai])), "openai");
  });
});
