import assert from "node:assert/strict";
import { chmodSync, mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleAllowance } from "../../../test/samples/sample-allowance.ts";
import { type Config, defaultConfig } from "../../config/config.ts";
import { checkAgents } from "./settings-checks.ts";

const AGENT = join(import.meta.dirname, "../../../test/support/acp-agent.mjs");

async function check(
  name: string,
  agents: Config["agents"],
  { path = "/usr/bin:/bin", isDeep = false } = {},
) {
  await using allowance = new SampleAllowance();
  const { agent } = defaultConfig("/data");
  const options = { cwd: "/", env: { PATH: path }, isDeep, allowance };
  return await checkAgents({ agent: { ...agent, name }, agents }, options);
}

describe("checkAgents()", () => {
  it("says nothing if the built-in agent is the only one", async () => {
    assert.deepEqual(await check("trunkline", {}), []);
  });

  it("fails if the agent of sessions is not installed, with the command that installs it", async () => {
    const [found] = await check("claude", { claude: { command: "claude-agent-acp" } });
    assert.deepEqual([found?.state, found?.what], ["fail", "Agent 'claude'"]);
    assert.match(found?.says ?? "", /not installed: 'claude-agent-acp' is not in PATH; sessions/);
    assert.equal(found?.command, "npm install -g @agentclientprotocol/claude-agent-acp");
  });

  it("only warns about another agent, and finds each once it is there", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-doctor-"));
    const file = join(folder.path, "my-agent");
    const agents = { mine: { command: "my-agent" }, full: { command: file } };
    const states = async (): Promise<string[]> => {
      const found = await check("trunkline", agents, { path: folder.path });
      return found.map(({ state, says }) => `${state} ${says}`);
    };
    const [mine = "", full = ""] = await states();
    assert.match(mine, /^warn is not installed: 'my-agent' is not in PATH$/);
    assert.equal(full, `warn is not installed: there is no file ${file}`);
    writeFileSync(file, "#!/bin/sh\n", { mode: 0o600 });
    if (process.getuid?.() !== 0 || process.platform === "linux") {
      assert.match((await states())[1] ?? "", /is not executable$/);
    }
    chmodSync(file, 0o700);
    assert.deepEqual(
      (await states()).map((state) => state.slice(0, 2)),
      ["ok", "ok"],
    );
  });

  it("looks for the script that an interpreter is to run", async () => {
    const args = ["--no-warnings", "/nowhere/agent.js"];
    const [found] = await check("mine", { mine: { command: process.execPath, args } });
    assert.equal(found?.state, "fail");
    assert.match(found?.says ?? "", /no file \/nowhere\/agent\.js/);
  });

  it("fails for an agent that is not configured, and suggests one that is", async () => {
    const [, found] = await check("gose", { goose: { command: "/bin/sh" } });
    assert.equal(found?.state, "fail");
    assert.match(found?.says ?? "", /Did you mean 'goose'\?/);
    assert.match(found?.next ?? "", /`agent` to one of: trunkline, goose/);
  });

  it("starts agents only if that is wanted, and tells whether they answer", async () => {
    const agents = {
      good: { command: process.execPath, args: [AGENT] },
      bad: { command: process.execPath, args: ["-e", "process.exit(3)"] },
    };
    const found = await check("good", agents, { isDeep: true });
    assert.deepEqual(
      found.map(({ state }) => state),
      ["ok", "fail"],
    );
    assert.match(found[0]?.says ?? "", /^answers 'initialize' after/);
    assert.match(found[1]?.says ?? "", /^does not answer 'initialize': /);
    const shallow = await check("good", agents);
    assert.deepEqual(
      shallow.map(({ state }) => state),
      ["ok", "ok"],
    );
  });
});
