import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Log } from "../../base/log.ts";
import type { Orchestrator } from "../orchestrator.ts";
import { type Config, defaultConfig } from "../../config/config.ts";
import { busPlan, hasBus, hasPlugins, reconfigure } from "./bus.ts";

function configWith(bus: Partial<Config["bus"]>): Config {
  const config = defaultConfig("/data");
  return { ...config, bus: { ...config.bus, ...bus } };
}

const PLUGINS = { on: { command: "/bin/on", args: ["-x"] }, off: { command: "x", enabled: false } };

describe("busPlan()", () => {
  it("puts unconfigured folders into the data folder, and leaves out disabled plugins", () => {
    const plan = busPlan(configWith({ plugins: PLUGINS }));
    assert.equal(plan.listen, "localhost:50100");
    assert.equal(plan.certsDir, "/data/certs");
    assert.equal(plan.workspace, "/data/workspace");
    assert.deepEqual(plan.plugins, [
      {
        id: "on",
        binary: "/bin/on",
        args: ["-x"],
        env: {},
        config: {},
        providesStorage: [],
        providesAi: [],
        dependsOn: [],
      },
    ]);
  });
});

describe("the limits of one plugin", () => {
  it("are those that are configured, and no others", () => {
    const one = { command: "x", callTimeout: 5_000, calls: 4 };
    const [first, second] = busPlan(
      configWith({ plugins: { one, two: { command: "x" } } }),
    ).plugins;
    assert.deepEqual(first?.limits, { call: 5_000, calls: 4 });
    assert.equal(second !== undefined && "limits" in second, false);
  });
});

describe("hasBus()", () => {
  it("is true with an address or an enabled plugin", () => {
    assert.equal(hasBus(configWith({})), false);
    assert.equal(hasBus(configWith({ plugins: { off: PLUGINS.off } })), false);
    assert.equal(hasBus(configWith({ plugins: PLUGINS })), true);
    assert.equal(hasBus(configWith({ listen: "localhost:1" })), true);
    assert.equal(hasPlugins(configWith({ listen: "localhost:1" })), false);
  });
});

describe("reconfigure()", () => {
  it("applies the plugins, and names the settings that need a restart", async () => {
    const lines: Record<string, unknown>[] = [];
    const log = new Log("info", (line) => void lines.push(JSON.parse(line)));
    const configured: unknown[] = [];
    const orchestrator = {
      configure: async (plugins: unknown) => void configured.push(plugins),
    } as unknown as Orchestrator;
    const opened = busPlan(configWith({}));
    await reconfigure(orchestrator, busPlan(configWith({ plugins: PLUGINS })), opened, log);
    assert.equal(lines.length, 0);
    const changed = busPlan(configWith({ listen: "localhost:1", callTimeout: 5 }));
    await reconfigure(orchestrator, changed, opened, log);
    const [line] = lines as { settings?: unknown }[];
    assert.deepEqual(line?.settings, ["bus.listen", "bus.callTimeout"]);
    assert.equal(configured.length, 2);
  });
});
