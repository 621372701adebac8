import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Models } from "../../agent/models/models.ts";
import type { ModelSettings } from "../../config/schema/schema.gen.ts";
import { Log } from "../../base/log.ts";
import { modelServices } from "./model-services.ts";

const proxy = "http://127.0.0.1:1";

function servicesOf(
  env: Readonly<Record<string, string>>,
  settings: ModelSettings = {},
  stored: Readonly<Record<string, string>> = {},
  pass?: string,
) {
  const models = new Models({
    find: (variable) => env[variable] || undefined,
    findLater: async () => new Map(Object.entries(stored)),
    settings,
    log: new Log("error", () => {}),
  });
  return modelServices({ models, settings, proxy, pass });
}

describe("modelServices()", () => {
  it("keeps the keys out of the sandbox: programs there see the proxy and a placeholder", async () => {
    const env = { ANTHROPIC_API_KEY: "sk-secret", OPENAI_API_KEY: "sk-other", OTHER_KEY: "x" };
    const { services, variables, settings } = await servicesOf(env);
    assert.doesNotMatch(JSON.stringify([variables, settings]), /sk-/);
    assert.deepEqual(variables, {
      TRUNKLINE_MODEL_PASS: "added-by-the-proxy",
      ANTHROPIC_API_KEY: "added-by-the-proxy",
      ANTHROPIC_BASE_URL: `${proxy}/service/anthropic`,
      OPENAI_API_KEY: "added-by-the-proxy",
      OPENAI_BASE_URL: `${proxy}/service/openai`,
    });
    assert.equal((await services.anthropic?.headers())?.["x-api-key"], "sk-secret");
    assert.deepEqual(await services.openai?.headers(), { authorization: "Bearer sk-other" });
  });

  it("uses the configured address, and offers no provider without a key", async () => {
    const env = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://llm.test/v1" };
    const { services } = await servicesOf({ ...env, ANTHROPIC_API_KEY: "" });
    assert.deepEqual(Object.keys(services), ["openai"]);
    assert.equal(services.openai?.origin, "http://llm.test/v1");
  });

  it("has Google's, those of the configuration with their headers, and keys of the keychain", async () => {
    const headers = { "x-team": "secret-team" };
    const house = { baseUrl: "https://llm.corp/v1", keyVariable: "HOUSE", headers, models: ["m"] };
    const stored = { HOUSE: "sk-house", GOOGLE_GENERATIVE_AI_API_KEY: "sk-google" };
    const made = await servicesOf({}, { default: "house/m", providers: { house } }, stored, "pass");
    const { services, variables, settings } = made;
    assert.deepEqual(await services.google?.headers(), { "x-goog-api-key": "sk-google" });
    assert.deepEqual(await services.house?.headers(), {
      authorization: "Bearer sk-house",
      "x-team": "secret-team",
    });
    assert.equal(services.house?.pass, "pass");
    assert.equal(variables.GOOGLE_GEMINI_BASE_URL, `${proxy}/service/google`);
    assert.doesNotMatch(JSON.stringify([variables, settings]), /sk-|secret-team/);
    const baseUrl = `${proxy}/service/house`;
    const seen = { type: "openai-compatible", baseUrl, keyVariable: "TRUNKLINE_MODEL_PASS" };
    assert.deepEqual(settings.providers?.house, { ...seen, models: ["m"] });
    assert.equal(settings.default, "house/m");
  });

  it("has one that was found on a local port only if a person chose it: any program may listen there", async () => {
    const { services, settings } = await servicesOf({}, { local: true });
    assert.deepEqual([services, settings.local], [{}, false]);
    const chosen = await servicesOf({}, { default: "ollama/llama" });
    assert.deepEqual(Object.keys(chosen.services), ["ollama"]);
  });
});
