import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { defaultConfig } from "../config/config.ts";
import { localInForce, remoteInForce } from "./in-force.ts";

const config = defaultConfig("/data");
const wanting = (sandbox: "auto" | "on" | "off"): typeof config => ({
  ...config,
  agent: { ...config.agent, sandbox },
});
const missing = async (): Promise<string> =>
  "bwrap is not installed: install the package bubblewrap";

describe("localInForce()", () => {
  it("warns where commands run without a sandbox, and fails where they do not run", async () => {
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

  it("tries it out, and leaves nothing", async () => {
    const { state, says, next } = await localInForce(wanting("auto"));
    if (state === "ok") assert.match(says, /^in force/);
    else assert.notEqual(next, undefined, says);
  });
});

describe("remoteInForce()", () => {
  it("names each part, and what mends those that are missing", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-in-force-"));
    const data = join(folder.path, "not/there/yet");
    const found = await remoteInForce({ ...config, data });
    const parts = found.map(({ what }) => what.replace("Remote runs, ", ""));
    assert.deepEqual([parts[0], ...parts.slice(-2)], ["bubblewrap", "workspaces", "SSH"]);
    for (const { what, state, says, next } of found) {
      assert.notEqual(says, "");
      assert.ok(state === "ok" || next !== undefined, what);
    }
  });

  it("says first that there is none where that was set", async () => {
    const remote = { ...config.remote, sandbox: "unsafe-off" } as const;
    const [first] = await remoteInForce({ ...config, remote });
    assert.deepEqual([first?.state, first?.next], ["warn", "Set `remote.sandbox` to `on`."]);
  });
});
