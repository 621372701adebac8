import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { modelServices } from "./model-services.ts";

describe("modelServices()", () => {
  it("keeps the keys out of the sandbox: programs there see the proxy and a placeholder", async () => {
    const env = { ANTHROPIC_API_KEY: "sk-secret", OPENAI_API_KEY: "sk-other", OTHER_KEY: "x" };
    const { services, variables } = modelServices(env);
    assert.doesNotMatch(JSON.stringify(variables), /sk-/);
    assert.deepEqual(Object.keys(variables).toSorted(), [
      "ANTHROPIC_API_KEY",
      "ANTHROPIC_BASE_URL",
      "OPENAI_API_KEY",
      "OPENAI_BASE_URL",
    ]);
    assert.match(variables.ANTHROPIC_BASE_URL ?? "", /^PROXY.*anthropic$/);
    assert.deepEqual(await services.anthropic?.headers(), { "x-api-key": "sk-secret" });
    assert.deepEqual(await services.openai?.headers(), { authorization: "Bearer sk-other" });
  });

  it("uses the configured address, and offers no provider without a key", () => {
    const env = {
      OPENAI_API_KEY: "k",
      OPENAI_BASE_URL: "http://llm.test/v1",
      ANTHROPIC_API_KEY: "",
    };
    const { services } = modelServices(env);
    assert.deepEqual(Object.keys(services), ["openai"]);
    assert.equal(services.openai?.origin, "http://llm.test/v1");
  });
});
