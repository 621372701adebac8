import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import type { Invocation } from "../shell/command.ts";
import { checkBus, checkServers } from "./servers.ts";

const SERVER = join(import.meta.dirname, "../../../test/support/notes-server.mjs");

function invocationIn(home: SampleHome): Invocation {
  const write = (text: string): never => assert.fail(text);
  const shown = { color: false, isTerminal: false, width: 80 };
  const streams = { out: write, data: write, err: write };
  const env = { HOME: home.path, PATH: process.env.PATH ?? "" };
  return { values: {}, positionals: [], env, cwd: home.project, ...streams, ...shown };
}

describe("checkServers()", () => {
  it("checks nothing if no server is configured", async () => {
    await using home = await SampleHome.create();
    const [found] = await checkServers(invocationIn(home));
    assert.deepEqual(found, { state: "ok", what: "MCP servers", says: "none configured" });
  });

  it("distinguishes a server that works from one that exits, and from one that is missing", async () => {
    await using home = await SampleHome.create();
    const mcpServers = {
      notes: { command: process.execPath, args: [SERVER] },
      ends: { command: process.execPath, args: ["--eval", "process.exit(3)"] },
      missing: { command: join(home.path, "no-such-program") },
    };
    await home.write(home.userFile, JSON.stringify({ mcpServers }));
    const findings = await checkServers(invocationIn(home));
    const stateOf = (name: string) => findings.find(({ what }) => what.includes(`'${name}'`));
    assert.equal(stateOf("notes")?.state, "ok");
    for (const name of ["ends", "missing"]) {
      assert.equal(stateOf(name)?.state, "fail");
      assert.match(stateOf(name)?.next ?? "", /remove it from `mcpServers`/);
    }
  });
});

describe("checkBus()", () => {
  it("checks nothing if no plugin is configured", async () => {
    await using home = await SampleHome.create();
    assert.deepEqual(await checkBus(invocationIn(home), await home.load()), []);
  });

  it("warns about plugins without a running bus, and says how to start it", async () => {
    await using home = await SampleHome.create();
    const plugins = { "tools.greet": { command: "greet" } };
    const bus = { listen: "tls://127.0.0.1:1", plugins };
    await home.write(home.userFile, JSON.stringify({ bus }));
    const [found] = await checkBus(invocationIn(home), await home.load());
    assert.equal(found?.state, "warn");
    assert.match(found?.next ?? "", /`trunkline serve` or `trunkline orchestrator`/);
    assert.doesNotMatch(found?.says ?? "", /Run `/);
  });
});
