import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

const AGENT = join(import.meta.dirname, "../../../test/support/acp-agent.mjs");

describe("trunkline agent", () => {
  it("adds an agent, makes it the default, lists and removes it", async () => {
    await using line = await SampleCommandLine.create();
    const added = await line.run("agent", "add", "x", "--default", "--", process.execPath, AGENT);
    assert.equal(added.code, 0, added.err);
    const { config } = await line.home.load();
    assert.deepEqual(config.agents, { x: { command: process.execPath, args: [AGENT] } });
    assert.equal(config.agent.name, "x");
    const { out } = await line.run("agent", "list");
    assert.match(out, /^ +trunkline +built in$/m);
    assert.match(out, /^\* +x +your file +\S/m);
    assert.equal((await line.run("agent", "remove", "x")).code, 0);
    assert.deepEqual((await line.home.load()).config.agents, {});
  });

  it("lists agents that are installed but not configured, with the command that adds them", async () => {
    await using line = await SampleCommandLine.create();
    const folder = join(line.home.path, ".local/bin");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "opencode"), "", { mode: 0o755 });
    line.env.PATH = "/nowhere";
    const { out } = await line.run("agent", "list");
    const command = `trunkline agent add opencode --default -- ${folder}/opencode acp`;
    assert.ok(out.includes(`opencode is installed: ${command}`), out);
    const { found } = await line.json<{ found: { name: string }[] }>("agent", "list");
    assert.deepEqual(
      found.map(({ name }) => name),
      ["opencode"],
    );
    assert.equal((await line.run(...command.split(" ").slice(1))).code, 0);
    assert.doesNotMatch((await line.run("agent", "list")).out, /is installed/);
  });

  it("does not add one with the name of the built-in agent", async () => {
    await using line = await SampleCommandLine.create();
    const { code, err } = await line.run("agent", "add", "trunkline", "--", "x");
    assert.equal(code, 2);
    assert.match(err, /the built-in agent has that name/);
  });
});
