import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleHome } from "../../test/samples/sample-home.ts";
import { SETTINGS } from "./schema/keys.gen.ts";

describe("environment variables named after settings", () => {
  it("set every single value that has a fixed key", async () => {
    await using home = await SampleHome.create();
    const env = {
      TRUNKLINE_SERVE_HOST: "::1",
      TRUNKLINE_SERVE_PORT: "0",
      TRUNKLINE_LOG_LEVEL: "warn",
      TRUNKLINE_LOG_VERBOSE: "yes",
      TRUNKLINE_LIMITS_MAX_MESSAGE: "2048",
      TRUNKLINE_POLICY_TOOLS_DEFAULT: "deny",
    };
    const { config, origins, warnings } = await home.load({ env });
    assert.partialDeepStrictEqual(config.serve, { host: "::1", port: 0 });
    assert.deepEqual(config.log, { level: "warn", verbose: true, requests: false });
    assert.equal(config.limits.maxMessage, 2048);
    assert.equal(config.policy.tools.default, "deny");
    assert.deepEqual(warnings, []);
    const where = "TRUNKLINE_LIMITS_MAX_MESSAGE";
    assert.deepEqual(origins.get("limits.maxMessage"), { kind: "environment", where });
  });

  it("are derived from the schema", () => {
    const names = SETTINGS.map(({ path, variable }) => `${path.join(".")} ${variable}`);
    assert.deepEqual(names.slice(0, 4), [
      "data TRUNKLINE_DATA",
      "serve.host TRUNKLINE_SERVE_HOST",
      "serve.port TRUNKLINE_SERVE_PORT",
      "serve.publicUrl TRUNKLINE_SERVE_PUBLIC_URL",
    ]);
  });

  for (const [name, value, says] of [
    ["TRUNKLINE_SERVE_PORT", "http", "must be an integer"],
    ["TRUNKLINE_SERVE_PORT", "1.5", "must be an integer"],
    ["TRUNKLINE_SERVE_PORT", "65536", "must be at most 65535"],
    ["TRUNKLINE_LOG_LEVEL", "loud", "must be one of: debug, info, warn, error"],
    ["TRUNKLINE_LOG_VERBOSE", "perhaps", "must be true or false"],
  ] as const) {
    it(`are refused by name: ${name}=${value}`, async () => {
      await using home = await SampleHome.create();
      const message = `${name} is '${value}', but ${says}`;
      await assert.rejects(home.load({ env: { [name]: value } }), { code: "config", message });
    });
  }

  it("that are misspelt are reported, and those of other programs ignored", async () => {
    await using home = await SampleHome.create();
    const env = { TRUNKLINE_SERVE_PROT: "1", TRUNKLINE_SOMETHING: "1", OTHER: "1" };
    const known = "TRUNKLINE_SERVE_HOST, TRUNKLINE_SERVE_PORT, TRUNKLINE_SERVE_PUBLIC_URL";
    const { warnings } = await home.load({ env });
    assert.deepEqual(warnings, [`TRUNKLINE_SERVE_PROT sets nothing. Known: ${known}`]);
  });
});
