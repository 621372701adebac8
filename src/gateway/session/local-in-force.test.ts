import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { defaultConfig } from "../config/config.ts";
import { localInForce } from "./local-in-force.ts";

const config = defaultConfig("/data");
const wanting = (sandbox: "auto" | "on" | "off"): typeof config => ({
  ...config,
  agent: { ...config.agent, sandbox },
});
const missing = async (): Promise<string> =>
  "bwrap is not installed: install the package bubblewrap";

describe("localInForce()", () => {
  it("warns if commands run without a sandbox, and fails if they do not run", async () => {
    const auto = await localInForce(wanting("auto"), missing);
    assert.equal(auto.state, "warn");
    assert.match(
      auto.says,
      /^none, so commands run without one, and can read keys .*: bwrap is not/,
    );
    assert.match(auto.next ?? "", /bubblewrap/);
    const on = await localInForce(wanting("on"), missing);
    assert.equal(on.state, "fail");
    assert.match(on.says, /commands do not run/);
  });

  it("says which setting turned it off", async () => {
    const { state, next } = await localInForce(wanting("off"), missing);
    assert.deepEqual([state, next], ["warn", "Set `agent.sandbox` to `auto`."]);
  });

  it("tests the sandbox, and leaves nothing behind", async () => {
    const { state, says, next } = await localInForce(wanting("auto"));
    if (state === "ok") assert.match(says, /^in force/);
    else assert.notEqual(next, undefined, says);
  });
});
