import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { ConfigFlags } from "./config.ts";
import { SampleHome } from "../../test/samples/sample-home.ts";

describe("options", () => {
  it("set the host and the port, and take precedence over --set", async () => {
    await using home = await SampleHome.create();
    const flags = { host: "::1", port: "0", set: ["serve.port=1", "serve.host=x"] };
    const { config, origins } = await home.load({ flags });
    assert.partialDeepStrictEqual(config.serve, { host: "::1", port: 0 });
    assert.deepEqual(origins.get("serve.port"), { kind: "flag", where: "--port" });
  });

  it("take the sandbox from remote runs, for this process alone", async () => {
    await using home = await SampleHome.create();
    const { config, origins } = await home.load({ flags: { noSandbox: true } });
    assert.equal(config.remote.sandbox, "unsafe-off");
    const where = "--unsafe-no-sandbox";
    assert.deepEqual(origins.get("remote.sandbox"), { kind: "flag", where });
    assert.equal((await home.load({ flags: {} })).config.remote.sandbox, "on");
  });

  for (const [flags, message] of [
    [{ port: "http" }, "--port: 'serve.port' must be an integer"],
    [{ port: 65536 }, "--port: 'serve.port' must be at most 65535"],
    [{ host: "" }, "--host: 'serve.host' must not be empty"],
    [{ data: "" }, "--data: 'data' must not be empty"],
    [{ set: ["data=5"] }, "--set data: 'data' must be a string"],
    [
      { set: ["log.levle=info"] },
      "--set log.levle: 'log.levle' is not a known key; did you mean 'level'?",
    ],
    [{ set: ["agents.a.args=[]"] }, "--set: 'agents.a.command' is missing"],
  ] as const satisfies readonly (readonly [ConfigFlags, string])[]) {
    it(`are refused as wrong usage: ${JSON.stringify(flags)}`, async () => {
      await using home = await SampleHome.create();
      await assert.rejects(home.load({ flags }), { code: "usage", message });
    });
  }
});
