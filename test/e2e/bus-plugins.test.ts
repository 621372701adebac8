import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../support/requirement.ts";
import { Stopper } from "../../src/base/stop.ts";
import type { PluginLimits } from "../../src/plugin/plugin/settings.ts";
import { BusHome } from "../support/bus-home.ts";
import { BusInProcess, wordsOf } from "../support/bus-in-process.ts";

function isAlive(pid: number | undefined): boolean {
  try {
    return process.kill(pid ?? 0, 0);
  } catch {
    return false;
  }
}

/**
 * A bus with a plugin that is well, and one that has something. Their tools have other names. The
 * limits are those of the latter alone: on a busy machine the other might not keep them.
 */
async function withTrouble(
  home: BusHome,
  trouble: string,
  limits: Partial<PluginLimits> = {},
): Promise<BusInProcess> {
  const well = home.testPlugin("well");
  const bus = await BusInProcess.open(home, [well]);
  await bus.until("well", ({ state }) => state === "up");
  await bus.configure([well, home.testPlugin("ill", { BUS_TROUBLE: trouble })], limits);
  return bus;
}

describe("a plugin that does not start", { timeout: 600_000 }, () => {
  const causes: Readonly<Record<string, readonly [Partial<PluginLimits>, RegExp]>> = {
    exit: [{}, /^It ended \(9\) before it was READY, after saying: the disk is on fire$/],
    "no-ready": [{ ready: 1_500 }, /^It did not say READY within 1500 ms$/],
    "boot-error": [{}, /^It could not boot: it is Sunday$/],
    "hang-boot": [{ handshake: 5_000 }, /^Waited 5000 ms for Plugin 'ill' to answer 'boot'$/],
  };
  for (const [trouble, [limits, expected]] of Object.entries(causes)) {
    it(`is retried, and says why (${trouble}); the other one serves`, async () => {
      await using home = new BusHome();
      await using bus = await withTrouble(home, trouble, limits);
      const { lastError } = await bus.until("ill", (status) => status.restarts > 0);
      assert.match(lastError ?? "", expected);
      assert.equal(wordsOf(await bus.call("echo", { text: "well" })), "well");
      await assert.rejects(bus.orchestrator.plugin("ill").start(), /could not be started/);
    });
  }

  it("keeps its dependents from starting, and they say so", async () => {
    await using home = new BusHome();
    const plugins = [
      { ...home.testPlugin("needy"), depends_on: ["ill"] },
      home.testPlugin("ill", { BUS_TROUBLE: "boot-error" }),
    ];
    await using bus = await BusInProcess.open(home, plugins);
    const { lastError } = await bus.until("needy", (status) => status.lastError !== undefined);
    assert.match(lastError ?? "", /^Plugin 'ill' could not be started\. It could not boot/);
  });
});

describe("a plugin that fails later", { timeout: 600_000 }, () => {
  it("is reported to its callers when it dies, and restarted", async () => {
    await using home = new BusHome();
    await using bus = await BusInProcess.open(home, [home.testPlugin()]);
    await bus.until("tools.test", ({ state }) => state === "up");
    const slow = bus.call("note", { message: "slow", ms: 60_000 });
    while (home.recorded().length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    const died = await bus.call("perish");
    for (const result of [died, await slow]) {
      assert.equal(result.isError, true);
      assert.match(wordsOf(result), /^Plugin 'tools\.test' was lost before it had answered/);
      assert.match(wordsOf(result), /may or may not have been carried out/);
    }
    const { lastError } = await bus.until("tools.test", ({ restarts, state }) => {
      return restarts === 1 && state === "up";
    });
    assert.match(lastError ?? "", /^It was ended by SIGKILL/);
    assert.equal(wordsOf(await bus.call("echo", { text: "again" })), "again");
    assert.deepEqual(home.recorded(), ["note slow"]);
  });

  it("is reported at once to callers while it is down", async () => {
    await using home = new BusHome();
    const limits = { firstWait: 60_000, longestWait: 60_000 };
    await using bus = await BusInProcess.open(home, [home.testPlugin()], limits);
    await bus.until("tools.test", ({ state }) => state === "up");
    await bus.call("perish");
    const result = await bus.call("echo", { text: "anybody?" });
    assert.equal(result.isError, true);
    assert.match(
      wordsOf(result),
      /^Plugin 'tools\.test' (is down|has just ended|is not reachable)/,
    );
    await bus.until("tools.test", ({ state }) => state === "waiting");
    await bus.orchestrator.plugin("tools.test").restart();
    assert.equal(wordsOf(await bus.call("echo", { text: "back" })), "back");
  });

  for (const [trouble, health, expected] of [
    ["hang-health", 300, /It does not answer: Waited 300 ms/],
    ["unhealthy", 60_000, /It says that it is not well: a fever/],
  ] as const) {
    it(`is restarted (${trouble})`, async () => {
      covers("bus.health");
      await using home = new BusHome();
      const limits = { healthEvery: 100, health, mostUnhealthy: 2 };
      await using bus = await withTrouble(home, trouble, limits);
      const first = await bus.until("ill", ({ state }) => state === "up");
      // Where the first that was seen up had been started again already, wait for the next.
      await bus.until("ill", ({ pid, state }) => pid !== first.pid && state === "up");
      assert.ok(bus.lines.some((line) => line.includes("plugin.unhealthy") && expected.test(line)));
      assert.equal(isAlive(first.pid), false);
      assert.equal(wordsOf(await bus.call("echo", { text: "well" })), "well");
    });
  }

  it("does not hold a caller that cancels", async () => {
    await using home = new BusHome();
    await using bus = await BusInProcess.open(home, [home.testPlugin()]);
    await bus.until("tools.test", ({ state }) => state === "up");
    const stop = new Stopper();
    const hanging = bus.call("hang", {}, stop);
    assert.equal(wordsOf(await bus.call("echo", { text: "others" })), "others");
    stop.stop(new Error("never mind"));
    const result = await hanging;
    assert.equal(result.isError, true);
    assert.match(wordsOf(result), /'hang' was cancelled/);
  });

  for (const tool of ["hang", "stall"]) {
    it(`is reported to its caller when it hangs in the call (${tool})`, async () => {
      await using home = new BusHome();
      // A hundred times what the calls take that are to be answered.
      await using bus = await BusInProcess.open(home, [home.testPlugin()], { call: 3_000 });
      await bus.until("tools.test", ({ state }) => state === "up");
      const hanging = bus.call(tool);
      assert.equal(wordsOf(await bus.call("echo", { text: "others" })), "others");
      const result = await hanging;
      assert.equal(result.isError, true);
      assert.match(wordsOf(result), /Waited 3000 ms for Plugin 'tools\.test' to answer/);
      assert.equal(bus.status("tools.test").restarts, 0);
      assert.equal(wordsOf(await bus.call("echo", { text: "again" })), "again");
    });
  }

  it("may log more than anybody can read", async () => {
    await using home = new BusHome();
    await using bus = await BusInProcess.open(home, [home.testPlugin()]);
    await bus.until("tools.test", ({ state }) => state === "up");
    assert.equal(wordsOf(await bus.call("chatter")), "done");
    assert.ok(bus.lines.length < 500, `${bus.lines.length} lines`);
    assert.ok(bus.orchestrator.plugin("tools.test").said.length <= 40);
  });
});

describe("a plugin that refuses to end", { timeout: 600_000 }, () => {
  for (const trouble of ["hang-shutdown", "ignore-sigterm"]) {
    it(`is killed (${trouble})`, async () => {
      await using home = new BusHome();
      const plugins = [home.testPlugin("ill", { BUS_TROUBLE: trouble })];
      const bus = await BusInProcess.open(home, plugins, { shutdown: 500 });
      const { pid } = await bus.until("ill", ({ state }) => state === "up");
      assert.equal(isAlive(pid), true);
      await bus[Symbol.asyncDispose]();
      assert.equal(isAlive(pid), false);
    });
  }
});
