import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import type { Config } from "../../config/config.ts";
import { differenceOf, termsOf } from "./terms.ts";

async function loaded(): Promise<Config> {
  await using home = await SampleHome.create();
  return (await home.load()).config;
}

describe("differenceOf()", () => {
  it("finds none between the same settings, wherever the gateway listens and what it logs", async () => {
    const config = await loaded();
    const gateway = {
      ...config,
      serve: { ...config.serve, host: "h", port: 1 },
      log: { level: "error" as const, verbose: false, requests: false },
    };
    const ours = termsOf(gateway, { PATH: "/bin", TERM: "dumb" });
    assert.equal(differenceOf(ours, termsOf(config, { PATH: "/bin", TERM: "xterm" })), undefined);
  });

  it("names what differs: version, configuration, or the variable", async () => {
    const config = await loaded();
    const ours = termsOf(config, { PATH: "/bin" });
    assert.match(differenceOf(ours, { ...ours, version: "0" }) ?? "", /^is version \d/);
    const other = termsOf({ ...config, mcpServers: { a: { command: "x" } } }, { PATH: "/bin" });
    assert.equal(differenceOf(ours, other), "has another configuration");
    const path = differenceOf(ours, termsOf(config, { PATH: "/usr/bin" }));
    assert.equal(path, "has another PATH in its environment");
  });

  it("serves a window that lacks a variable, unless leaving it out has a meaning", async () => {
    const config = await loaded();
    const env = { PATH: "/bin", SSH_AUTH_SOCK: "/agent", LC_ALL: "C" };
    assert.equal(differenceOf(termsOf(config, env), termsOf(config, {})), undefined);
    const lacking = differenceOf(termsOf(config, { GIT_SSH_COMMAND: "x" }), termsOf(config, {}));
    assert.equal(lacking, "has another GIT_SSH_COMMAND in its environment");
    assert.notEqual(differenceOf(termsOf(config, {}), termsOf(config, env)), undefined);
  });

  it("compares the variables that the configuration names", async () => {
    const config: Config = {
      ...(await loaded()),
      mcpServers: { a: { command: "x", env: { KEY: "${MY_KEY}" } } },
      identities: {
        work: { tokenSource: { kind: "environment", variable: "WORK_TOKEN" } },
      } as never,
    };
    for (const name of ["MY_KEY", "WORK_TOKEN"]) {
      const why = differenceOf(termsOf(config, { [name]: "1" }), termsOf(config, { [name]: "2" }));
      assert.equal(why, `has another ${name} in its environment`);
      assert.notEqual(
        differenceOf(termsOf(config, { [name]: "1" }), termsOf(config, {})),
        undefined,
      );
    }
  });
});
