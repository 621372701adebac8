import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import type { PluginStatus } from "../../src/plugin/plugin/plugin.ts";
import { Bridge, BusHome, OrchestratorProgram, type PluginEntry } from "../support/bus-home.ts";
import { Program } from "../support/program.ts";
import { until } from "../support/until.ts";

/** A bus whose plugins are in a file that the test writes anew. */
interface Followed extends AsyncDisposable {
  readonly orchestrator: OrchestratorProgram;
  write(...plugins: PluginEntry[]): void;
}

/** `trunkline orchestrator --config plugins.yaml` */
async function withYaml(home: BusHome, ...plugins: PluginEntry[]): Promise<Followed> {
  const orchestrator = await home.orchestrator(plugins);
  return {
    orchestrator,
    write: (...all) => void home.write(...all),
    // It ends with its home.
    [Symbol.asyncDispose]: async () => {},
  };
}

/** The same with `bus.plugins` of a configuration. */
async function withConfig(home: BusHome, ...plugins: PluginEntry[]): Promise<Followed> {
  const path = join(home.path, "config.jsonc");
  const write = (...all: PluginEntry[]): void => {
    const table = all.map(({ id, binary, ...rest }) => [id, { command: binary, ...rest }]);
    writeFileSync(path, JSON.stringify({ bus: { plugins: Object.fromEntries(table) } }));
  };
  write(...plugins);
  const where = ["--listen", "localhost:0", "--certs-dir", home.certs, "--data", home.data];
  const program = new Program(["orchestrator", "--json", "--config", path, ...where]);
  const orchestrator = new OrchestratorProgram(home, program);
  await program.until(({ lines }) => lines.length > 0);
  return { orchestrator, write, [Symbol.asyncDispose]: () => orchestrator[Symbol.asyncDispose]() };
}

async function statusOf(orchestrator: OrchestratorProgram): Promise<Map<string, PluginStatus>> {
  const { out } = await orchestrator.plugin("list", "--json");
  const { plugins } = JSON.parse(out) as { plugins: PluginStatus[] };
  return new Map(plugins.map((plugin) => [plugin.id, plugin]));
}

for (const [what, start] of [
  ["bus.plugins", withConfig],
  ["plugins.yaml", withYaml],
] as const) {
  describe(`a changed ${what}`, { timeout: 600_000 }, () => {
    let home: BusHome;
    let bus: Followed;
    let bridge: Bridge;
    before(async () => {
      home = new BusHome();
      bus = await start(home, ...["kept", "gone", "changed"].map((id) => home.testPlugin(id)));
      await bus.orchestrator.logged("plugin.up", 3);
      bridge = home.bridge(bus.orchestrator.addr);
    });
    after(async () => {
      await bridge[Symbol.asyncDispose]();
      await bus[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    });
    const changed = (greeting: string): PluginEntry => ({
      ...home.testPlugin("changed"),
      config: { greeting },
    });

    it("starts new plugins, ends removed ones, restarts changed ones, and leaves the rest", async () => {
      const { orchestrator } = bus;
      const before = await statusOf(orchestrator);

      bus.write(home.testPlugin("kept"), changed("moin"), home.testPlugin("added"));
      await orchestrator.logged("config.reloaded");
      await orchestrator.logged("plugin.up", 5);
      const after = await statusOf(orchestrator);
      assert.deepEqual([...after.keys()].toSorted(), ["added", "changed", "kept"]);
      assert.deepEqual(
        [...after.values()].map(({ state }) => state),
        ["up", "up", "up"],
      );
      assert.equal(after.get("kept")?.pid, before.get("kept")?.pid);
      assert.notEqual(after.get("changed")?.pid, before.get("changed")?.pid);
      await orchestrator.program.says(/booted with \{.*moin/);
      await untilEnded(before.get("gone")?.pid);
      // Its tools are those of the plugin that runs now, and none are left of the one that is gone.
      const names = (await bridge.ask("tools/list")).result?.tools?.map(({ name }) => name) ?? [];
      assert.ok(names.includes("changed_echo") && names.includes("added_echo"), names.join());
      assert.ok(!names.some((name) => name.startsWith("gone_")));
      const { result } = await bridge.call("changed_echo", { text: "again" });
      assert.equal(result?.content?.[0]?.text, "again");
    });

    it("lets a call finish before its plugin is ended", async () => {
      const slow = bridge.call("changed_note", { message: "slow", ms: 1_500 });
      await until(() => home.recorded().length > 0);
      bus.write(home.testPlugin("kept"), changed("servus"));
      assert.match((await slow).result?.content?.[0]?.text ?? "", / slow$/);
      // What is called meanwhile waits for the one that comes after it.
      await bus.orchestrator.logged("config.reloaded", 2);
      const next = await bridge.call("changed_echo", { text: "next" });
      assert.equal(next.result?.content?.[0]?.text, "next");
    });

    it("changes nothing if it is invalid", async () => {
      bus.write(home.testPlugin("kept"), home.testPlugin("orchestrator"));
      const { error } = await bus.orchestrator.logged("config.not-reloaded");
      assert.match(JSON.stringify(error), /Cannot have a plugin 'orchestrator'/);
      const status = await statusOf(bus.orchestrator);
      assert.deepEqual([...status.keys()].toSorted(), ["changed", "kept"]);
      for (const { id, state } of status.values()) assert.equal(state, "up", id);
    });
  });
}

/** What the status no longer lists may still be ending. */
async function untilEnded(pid = 0): Promise<void> {
  assert.notEqual(pid, 0);
  try {
    for (;;) {
      process.kill(pid, 0);
      await sleep(10);
    }
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "ESRCH");
  }
}

describe("plugins that are added later", { timeout: 600_000 }, () => {
  it("are started by a program that had none", async () => {
    await using home = new BusHome();
    const path = join(home.path, "config.jsonc");
    writeFileSync(path, "{}");
    const args = ["mcp", "--config", path, "--data", home.data];
    await using bridge = new Bridge(new Program(args));
    await bridge.ask("ping");
    const { binary, args: given, env } = home.testPlugin();
    const plugins = { "tools.test": { command: binary, args: given, env } };
    writeFileSync(path, JSON.stringify({ bus: { plugins } }));
    for (;;) {
      const { result } = await bridge.ask("tools/list");
      if (result?.tools?.some(({ name }) => name === "create_project") === true) break;
      await sleep(50);
    }
    const { result } = await bridge.call("echo", { text: "late" });
    assert.equal(result?.content?.[0]?.text, "late");
  });
});
