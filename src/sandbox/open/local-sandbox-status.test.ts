import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempDisposableSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { defaultConfig } from "../../config/config.ts";
import { systemProgram } from "../remedy.ts";
import { localSandboxStatus, pluginSandboxStatus } from "./local-sandbox-status.ts";
import { workedFile } from "./local-sandbox.ts";

const config = defaultConfig("/data");
const wanting = (sandbox: "auto" | "on" | "off"): typeof config => ({
  ...config,
  agent: { ...config.agent, sandbox },
});
const missing = async (): Promise<string> =>
  "bwrap is not installed: install the package bubblewrap";

describe("pluginSandboxStatus()", () => {
  const limited = (sandbox: "auto" | "on" | "off") => ({
    ...config,
    bus: { ...config.bus, sandbox },
  });

  it("says what becomes of plugins that have permissions", async () => {
    const states = [];
    for (const sandbox of ["auto", "on", "off"] as const) {
      const { state, says } = await pluginSandboxStatus(limited(sandbox), missing);
      states.push([state, says.split(": ", 1)[0]]);
    }
    assert.deepEqual(states, [
      ["warn", "none, so only plugins that may do everything are started"],
      ["fail", "none, so only plugins that may do everything are started"],
      ["warn", "off"],
    ]);
    const { state } = await pluginSandboxStatus(limited("auto"), async () => undefined);
    assert.equal(state, "ok");
  });
});

describe("localSandboxStatus()", () => {
  it("warns if commands run without a sandbox, and fails if they do not run", async () => {
    const auto = await localSandboxStatus(wanting("auto"), missing);
    assert.equal(auto.state, "warn");
    assert.match(
      auto.says,
      /^none, so commands run without one, each after a question, and can read keys .*: bwrap is not/,
    );
    assert.match(auto.next ?? "", /bubblewrap/);
    const on = await localSandboxStatus(wanting("on"), missing);
    assert.equal(on.state, "fail");
    assert.match(on.says, /commands do not run/);
  });

  it("fails if there was a sandbox once", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "in-force-"));
    mkdirSync(join(folder.path, "sandbox"));
    writeFileSync(workedFile(folder.path), "");
    const { state, says } = await localSandboxStatus(
      { ...wanting("auto"), data: folder.path },
      missing,
    );
    assert.equal(state, "fail");
    assert.match(says, /commands do not run/);
  });

  it("says which setting turned it off", async () => {
    const { state, next } = await localSandboxStatus(wanting("off"), missing);
    assert.deepEqual([state, next], ["warn", "Set `agent.sandbox` to `auto`."]);
  });

  it("tests the sandbox, and leaves nothing behind", async () => {
    const { state, says, next } = await localSandboxStatus(wanting("auto"));
    if (state === "ok") assert.match(says, /^in force/);
    else assert.notEqual(next, undefined, says);
  });

  const skip =
    systemProgram("bwrap") === undefined && "bwrap is missing: apt-get install bubblewrap";
  it("leaves nothing behind where the process exits before the test is over", { skip }, () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "in-force-"));
    const module = new URL("local-sandbox-status.ts", import.meta.url).href;
    const script = `
      import { readdirSync } from "node:fs";
      import { localSandboxStatus } from ${JSON.stringify(module)};
      void localSandboxStatus({ agent: { sandbox: "auto" }, data: "/nowhere" });
      console.log(readdirSync(process.env.TMPDIR).length);
      process.exit();`;
    const env = { ...process.env, TMPDIR: folder.path };
    const made = execFileSync(process.execPath, ["--input-type=module", "-e", script], { env });
    assert.equal(made.toString(), "1\n");
    assert.deepEqual(readdirSync(folder.path), []);
  });
});
