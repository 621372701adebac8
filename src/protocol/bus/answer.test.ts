import { create } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../test/support/requirement.ts";
import { answerOf, checkAnswer } from "./answer.ts";
import type { ResponseInit } from "./codec.ts";
import { PluginResponseSchema } from "./plugin.gen.ts";

function answer(response: ResponseInit["response"]) {
  return create(PluginResponseSchema, { requestId: "1", ...(response && { response }) });
}

const refusal = answer({
  case: "toolCall",
  value: { success: false, errorCode: "list_tools_error", errorMessage: "no plugins" },
});

describe("answerOf()", () => {
  it("returns the requested kind of answer", () => {
    const tools = answer({ case: "listTools", value: { tools: [{ name: "a" }] } });
    assert.equal(answerOf("The orchestrator", tools, "listTools").tools[0]?.name, "a");
    assert.equal(answerOf("The orchestrator", refusal, "toolCall").success, false);
  });

  it("throws with the reason of a refusal", () => {
    covers("bus.failure.codes");
    assert.throws(() => answerOf("The orchestrator", refusal, "listTools"), {
      code: "unavailable",
      message: "The orchestrator refused: list_tools_error: no plugins",
    });
    const mute = answer({ case: "toolCall", value: {} });
    assert.throws(() => answerOf("It", mute, "health"), { message: /it gave no reason/ });
  });

  it("names the kind that came instead", () => {
    assert.throws(() => answerOf("Plugin 'a'", answer(undefined), "boot"), {
      message: "Plugin 'a' gave an empty answer, not 'boot'",
    });
    const health = answer({ case: "health", value: {} });
    assert.throws(() => answerOf("Plugin 'a'", health, "boot"), {
      message: "Plugin 'a' gave an answer of kind 'health', not 'boot'",
    });
  });
});

describe("checkAnswer()", () => {
  it("accepts an empty answer, but not a refusal", () => {
    checkAnswer("It", answer(undefined));
    assert.throws(() => checkAnswer("It", refusal), { message: /list_tools_error/ });
  });
});
