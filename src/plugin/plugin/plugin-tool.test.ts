import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";

import { covers } from "../../../test/support/requirement.ts";
import { SampleContext } from "../../../test/samples/sample-context.ts";
import { LinkedPlugin } from "../../../test/support/linked-plugin.ts";
import { FAILURE, failure } from "../../protocol/bus/failure.ts";
import {
  PromptDefinitionSchema,
  ToolDefinitionSchema,
  type ToolRequest,
} from "../../protocol/bus/plugin.gen.ts";
import type { BusHandlers } from "../../protocol/bus/serve.ts";
import { PROVIDER } from "../bus-context.ts";
import { pluginPrompt, pluginTool } from "./plugin-tool.ts";

const TOOL = create(ToolDefinitionSchema, { name: "greet", inputSchema: { type: "object" } });
const UNKNOWN = { case: "toolCall", value: failure(FAILURE.toolNotFound, "no such tool") } as const;

/** Answers in pieces, of which it has two. */
const IN_PIECES: BusHandlers = {
  streamStart: async ({ streamId }, call) => {
    for (const text of ["in ", "pieces"]) {
      const value = { streamId, data: Buffer.from(text), contentType: "text/plain" };
      await call.send({ case: "streamChunk", value });
    }
    return { case: "streamEnd", value: { streamId, success: true } };
  },
};

describe("pluginTool()", () => {
  it("passes on the caller, session and provider, with the plugin's own tool name", async () => {
    covers("bus.route.tool");
    const asked: ToolRequest[] = [];
    await using plugin = new LinkedPlugin({
      toolCall: (request) => {
        asked.push(request);
        return { case: "toolCall", value: { success: true, result: { text: "hello" } } };
      },
    });
    const tool = pluginTool(plugin, TOOL, "sample_greet");
    const context = new SampleContext({ caller: { name: "editor" }, session: "s-1" });
    Object.assign(context.meta, { [PROVIDER]: "claude", traceparent: "00-1-2-01" });
    const result = await tool.call({ name: "Ada" }, context);
    assert.deepEqual(result.content, [{ type: "text", text: "hello" }]);
    assert.equal(tool.definition.name, "sample_greet");
    const [request] = asked;
    assert.deepEqual(
      [request?.toolName, request?.callerPlugin, request?.sessionId, request?.provider],
      ["greet", "editor", "s-1", "claude"],
    );
    assert.equal(request?.traceParent, "00-1-2-01");
    assert.deepEqual(request?.arguments, { name: "Ada" });
  });

  it("streams if a tool only streams, and remembers that", async () => {
    let calls = 0;
    await using plugin = new LinkedPlugin({
      ...IN_PIECES,
      toolCall: () => {
        calls++;
        return UNKNOWN;
      },
    });
    const tool = pluginTool(plugin, TOOL, "greet");
    for (let round = 0; round < 3; round++) {
      const { content } = await tool.call({}, new SampleContext());
      assert.deepEqual(content, [{ type: "text", text: "in pieces" }]);
    }
    assert.equal(calls, 1);
  });

  it("gives pieces one by one to a caller that streams", async () => {
    await using plugin = new LinkedPlugin({ ...IN_PIECES, toolCall: () => UNKNOWN });
    const pieces: string[] = [];
    const context = Object.assign(new SampleContext(), {
      piece: async (data: Uint8Array) => void pieces.push(String(Buffer.from(data))),
    });
    const { content } = await pluginTool(plugin, TOOL, "greet").call({}, context);
    assert.deepEqual([pieces, content], [["in ", "pieces"], []]);
  });

  it("reports a tool that the plugin no longer has", async () => {
    await using plugin = new LinkedPlugin({ toolCall: () => UNKNOWN });
    await assert.rejects(
      async () => pluginTool(plugin, TOOL, "greet").call({}, new SampleContext()),
      { code: "not-found", message: "Plugin 'sample' no longer has 'greet'" },
    );
  });

  it("tells clients that a tool is idempotent, if it says so", async () => {
    await using plugin = new LinkedPlugin({});
    const twice = create(ToolDefinitionSchema, {
      name: "read",
      inputSchema: { type: "object", "x-idempotent": true },
    });
    const { annotations, inputSchema } = pluginTool(plugin, twice, "read").definition;
    assert.deepEqual(annotations, { idempotentHint: true });
    assert.deepEqual(inputSchema, { type: "object" });
    assert.equal(pluginTool(plugin, TOOL, "greet").definition.annotations, undefined);
  });
});

describe("pluginPrompt()", () => {
  it("is created by the plugin, from its arguments", async () => {
    covers("bus.prompts");
    await using plugin = new LinkedPlugin({
      promptGet: ({ promptName, arguments: args }) => ({
        case: "promptGet",
        value: { messages: [{ role: "user", content: { text: `${promptName} ${args.of}` } }] },
      }),
    });
    const prompt = pluginPrompt(
      plugin,
      create(PromptDefinitionSchema, { name: "plan" }),
      "my_plan",
    );
    assert.equal(prompt.definition.name, "my_plan");
    const { messages } = await prompt.get({ of: "today" }, new SampleContext());
    assert.deepEqual(messages, [{ role: "user", content: { type: "text", text: "plan today" } }]);
  });
});
