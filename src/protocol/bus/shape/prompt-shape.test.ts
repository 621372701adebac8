import { create } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  PromptDefinitionSchema,
  PromptGetRequestSchema,
  PromptGetResponseSchema,
} from "../plugin.gen.ts";
import {
  fromBusPrompt,
  fromPromptGetResponse,
  toBusPrompt,
  toPromptGetRequest,
  toPromptGetResponse,
} from "./prompt-shape.ts";

describe("fromBusPrompt(), toBusPrompt()", () => {
  it("convert a prompt in both directions", () => {
    const prompt = {
      name: "plan",
      description: "Plan a feature",
      arguments: [{ name: "goal", description: "What for", required: true }, { name: "notes" }],
    };
    assert.deepEqual(fromBusPrompt(create(PromptDefinitionSchema, toBusPrompt(prompt))), prompt);
    const bare = create(PromptDefinitionSchema, toBusPrompt({ name: "bare", title: "Bare" }));
    assert.deepEqual(fromBusPrompt(bare), { name: "bare", description: "Bare", arguments: [] });
  });
});

describe("toPromptGetRequest()", () => {
  it("has the name and the arguments", () => {
    const request = create(PromptGetRequestSchema, toPromptGetRequest("plan", { goal: "ß" }));
    assert.equal(request.promptName, "plan");
    assert.deepEqual(request.arguments, { goal: "ß" });
  });
});

describe("fromPromptGetResponse(), toPromptGetResponse()", () => {
  it("convert messages in both directions", () => {
    const result = {
      description: "A plan",
      messages: [
        { role: "user", content: { type: "text", text: "Plan it" } },
        { role: "assistant", content: { type: "text", text: "1. …" } },
      ],
    };
    const response = create(PromptGetResponseSchema, toPromptGetResponse(result));
    assert.deepEqual(fromPromptGetResponse(response), result);
  });

  it("convert content that the bus cannot carry to text", () => {
    const content = { type: "resource", resource: { uri: "a:b", text: "the text" } };
    const { messages } = toPromptGetResponse({ messages: [{ role: "user", content }] });
    assert.deepEqual(messages, [{ role: "user", content: { type: "text", text: "the text" } }]);
  });

  it("convert every message to a role and content that clients know", () => {
    const messages = [{ role: "system", content: { type: "resource", text: "x" } }, {}];
    const response = create(PromptGetResponseSchema, { messages });
    assert.deepEqual(fromPromptGetResponse(response), {
      messages: [
        { role: "user", content: { type: "text", text: "x" } },
        { role: "user", content: { type: "text", text: "" } },
      ],
    });
  });
});
