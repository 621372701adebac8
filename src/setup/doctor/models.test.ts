import { describe, it } from "node:test";
import assert from "node:assert/strict";

import { checkModels } from "./settings-checks.ts";
import { defaultConfig, type LoadedConfig } from "../../config/config.ts";

function loaded(models: object = {}): LoadedConfig {
  const config = defaultConfig("/nonexistent");
  const merged = { ...config, models: { ...config.models, local: false, ...models } };
  return { config: merged, origins: new Map(), warnings: [], files: [] };
}

describe("checkModels()", () => {
  it("passes without a language model", async () => {
    const [finding, ...more] = await checkModels(loaded(), {});
    assert.deepEqual([finding?.state, more.length], ["ok", 0]);
    assert.match(finding?.says ?? "", /no language model/);
  });

  it("warns about a provider that does not answer, and never shows its key", async () => {
    const env = { OPENAI_API_KEY: "sk-secret", OPENAI_BASE_URL: "http://127.0.0.1:1/v1" };
    const findings = await checkModels(loaded(), env);
    assert.match(findings[0]?.says ?? "", /openai did not list its models/);
    assert.equal(findings[0]?.state, "warn");
    assert.doesNotMatch(JSON.stringify(findings), /sk-secret/);
  });

  it("warns about a default model that does not exist", async () => {
    const findings = await checkModels(loaded({ default: "nobody/none" }), {});
    assert.match(findings.at(-1)?.says ?? "", /nobody\/none, which does not exist/);
  });
});
