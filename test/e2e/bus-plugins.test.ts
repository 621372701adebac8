// Long: plugins of many kinds, three processes each.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { covers } from "../support/requirement.ts";
import { answerOf } from "../../src/protocol/bus/answer.ts";
import type { PluginStatus } from "../../src/plugin/plugin/plugin.ts";
import type { PluginLimits } from "../../src/plugin/plugin/settings.ts";
import type { ToolResult } from "../../src/tool/tool.ts";
import { BusHome } from "../support/bus-home.ts";
import { BusInProcess, wordsOf } from "../support/bus-in-process.ts";
import { until } from "../support/until.ts";

function isAlive(pid: number | undefined): boolean {
  try {
    return process.kill(pid ?? 0, 0);
  } catch {
    return false;
  }
}

function isUp({ state }: PluginStatus): boolean {
  return state === "up";
}

/** Calls a tool of a plugin that never answers, until the plugin is killed: when this is disposed of. */
async function hangingCall(bus: BusInProcess, id: string): Promise<AsyncDisposable> {
  const { pid = 0 } = await bus.until(id, isUp);
  const over = Promise.allSettled([bus.call(`${id}_hang`)]);
  await bus.until(id, ({ calls }) => calls === 1);
  return {
    async [Symbol.asyncDispose]() {
      if (isAlive(pid)) process.kill(pid, "SIGKILL");
      await over;
    },
  };
}

describe("a bus", { timeout: 600_000 }, () => {
  /** One bus with a plugin that is well. Each test adds one of its own, in place of the last. */
  let home: BusHome;
  let bus: BusInProcess;
  before(async () => {
    home = new BusHome();
    bus = await BusInProcess.open(home, [home.testPlugin("well")]);
    await bus.until("well", ({ state }) => state === "up");
  });
  after(async () => {
    await bus[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });

  /**
   * Adds a plugin that has something. The limits are those of that one alone: on a busy machine the
   * other might not keep them.
   */
  async function add(
    id: string,
    trouble: string,
    limits: Partial<PluginLimits> = {},
  ): Promise<void> {
    const plugin = home.testPlugin(id, { BUS_TROUBLE: trouble });
    await bus.configure([home.testPlugin("well"), plugin], limits);
  }

  /** Adds a plugin, and waits until it is up; then a way to call its tools. */
  async function addUp(id: string, limits: Partial<PluginLimits> = {}) {
    await add(id, "", limits);
    await bus.until(id, ({ state }) => state === "up");
    // The plugin that was there first has the plain names.
    return (tool: string, args: object = {}, controller?: AbortController): Promise<ToolResult> =>
      bus.call(`${id}_${tool}`, args, controller);
  }

  async function assertOthersAreServed(): Promise<void> {
    assert.equal(wordsOf(await bus.call("echo", { text: "well" })), "well");
  }

  describe("a plugin that does not start", () => {
    const causes: Readonly<Record<string, readonly [Partial<PluginLimits>, RegExp]>> = {
      exit: [{}, /^It ended \(9\) before it was READY, after saying: the disk is on fire$/],
      "no-ready": [{ ready: 1_500 }, /^It did not say READY within 1500 ms$/],
      "boot-error": [{}, /^It could not boot: it is Sunday$/],
      "hang-boot": [
        { handshake: 5_000 },
        /^No answer from plugin 'hang-boot' to 'boot' within 5000 ms$/,
      ],
    };
    for (const [trouble, [limits, expected]] of Object.entries(causes)) {
      it(`is retried, and says why (${trouble}); the other one serves`, async () => {
        await add(trouble, trouble, limits);
        const { lastError } = await bus.until(trouble, (status) => status.restarts > 0);
        assert.match(lastError ?? "", expected);
        await assertOthersAreServed();
        await assert.rejects(bus.orchestrator.plugin(trouble).start(), /could not be started/);
      });
    }

    it("does not hold up a changed configuration in which it is no more", async () => {
      await add("hangs", "hang-boot", { handshake: 3_600_000 });
      const hanging = bus.orchestrator.plugin("hangs");
      await until(() => hanging.said.includes("booting for ever"));
      await bus.configure([home.testPlugin("well")]);
      assert.equal(hanging.state, "stopped");
      await assertOthersAreServed();
    });

    it("keeps its dependents from starting, and they say so", async () => {
      await bus.configure([
        home.testPlugin("well"),
        { ...home.testPlugin("needy"), depends_on: ["ill"] },
        home.testPlugin("ill", { BUS_TROUBLE: "boot-error" }),
      ]);
      const { lastError } = await bus.until("needy", (status) => status.lastError !== undefined);
      assert.match(lastError ?? "", /^Plugin 'ill' could not be started\. It could not boot/);
    });
  });

  it("ends removed plugins, and restarts changed ones after their last call", async () => {
    const changed = home.testPlugin("changed");
    const plugins = [home.testPlugin("well"), home.testPlugin("gone"), changed];
    await bus.configure(plugins, { shutdown: 60_000 });
    const [kept, gone, before] = await Promise.all(
      ["well", "gone", "changed"].map((id) => bus.until(id, isUp)),
    );
    const slow = bus.call("changed_note", { message: "drains", ms: 1_000 });
    await until(() => home.recorded().includes("note drains"));
    await bus.configure([home.testPlugin("well"), { ...changed, config: { greeting: "moin" } }]);
    assert.equal(wordsOf(await slow), `${before?.pid} drains`);
    assert.equal(isAlive(gone?.pid), false);
    assert.throws(() => bus.status("gone"), /There is no plugin 'gone'/);
    // What is called meanwhile waits for the one that comes after it.
    assert.equal(wordsOf(await bus.call("changed_echo", { text: "next" })), "next");
    const after = await bus.until("changed", isUp);
    assert.notEqual(after.pid, before?.pid);
    assert.ok(bus.orchestrator.plugin("changed").said.some((line) => /moin/.test(line)));
    assert.equal(bus.status("well").pid, kept?.pid);
  });

  it("starts what a change adds while what the last one removed still answers", async () => {
    const [well, gone] = [home.testPlugin("well"), home.testPlugin("draining")];
    await bus.configure([well, gone], { shutdown: 600_000 });
    const { pid } = await bus.until("draining", isUp);
    await using call = await hangingCall(bus, "draining");
    const ending = bus.configure([well]);
    await bus.configure([well, home.testPlugin("fresh")]);
    await bus.until("fresh", isUp);
    // One of the same id waits for the end of the one before it.
    const again = bus.configure([well, gone]);
    assert.equal(bus.status("draining").state, "starting");
    assert.equal(isAlive(pid), true);
    await call[Symbol.asyncDispose]();
    await Promise.all([ending, again]);
    assert.notEqual((await bus.until("draining", isUp)).pid, pid);
  });

  it("lets a plugin that is being ended call no more than before", async () => {
    const well = home.testPlugin("well");
    const limited = { ...home.testPlugin("limited"), approved_tools: [] };
    await bus.configure([well, limited], { shutdown: 600_000 });
    await using call = await hangingCall(bus, "limited");
    const ending = bus.configure([well]);
    // Its manifest names this tool, which nobody has approved.
    const request = { case: "toolCall", value: { toolName: "echo" } } as const;
    const answer = await bus.guest("limited-client").ask(request);
    assert.equal(answerOf("It", answer, "toolCall").errorCode, "untrusted");
    await call[Symbol.asyncDispose]();
    await ending;
  });

  it("ends plugins at once, but what others need after these", async () => {
    const needy = ["needy", "other"].map((id) => ({
      ...home.testPlugin(id),
      depends_on: ["base"],
    }));
    const plugins = [home.testPlugin("base"), ...needy];
    await using own = await BusInProcess.open(home, plugins, { shutdown: 600_000 });
    for (const { id } of plugins) await own.until(id, isUp);
    // The tools of the one that is first have the plain names.
    await using call = await hangingCall(own, "needy");
    const ending = own.orchestrator[Symbol.asyncDispose]();
    const states = own.orchestrator.status().map(({ id, state }) => `${id} ${state}`);
    assert.deepEqual(states, ["base up", "needy stopped", "other stopped"]);
    await call[Symbol.asyncDispose]();
    await ending;
  });

  describe("a plugin that fails later", () => {
    it("is reported to its callers when it dies, and restarted", async () => {
      const call = await addUp("mortal");
      const slow = call("note", { message: "slow", ms: 60_000 });
      await until(() => home.recorded().includes("note slow"));
      const died = await call("perish");
      for (const result of [died, await slow]) {
        assert.equal(result.isError, true);
        assert.match(wordsOf(result), /^Plugin 'mortal' was lost before it had answered/);
        assert.match(wordsOf(result), /may or may not have been carried out/);
      }
      const { lastError } = await bus.until("mortal", ({ restarts, state }) => {
        return restarts === 1 && state === "up";
      });
      assert.match(lastError ?? "", /^It was ended by SIGKILL/);
      assert.equal(wordsOf(await call("echo", { text: "again" })), "again");
      assert.equal(home.recorded().filter((line) => line === "note slow").length, 1);
    });

    it("is reported at once to callers while it is down", async () => {
      const call = await addUp("down", { firstWait: 60_000, longestWait: 60_000 });
      await call("perish");
      const result = await call("echo", { text: "anybody?" });
      assert.equal(result.isError, true);
      assert.match(wordsOf(result), /^Plugin 'down' (is down|has just ended|is not reachable)/);
      await bus.until("down", ({ state }) => state === "waiting");
      await bus.orchestrator.plugin("down").restart();
      assert.equal(wordsOf(await call("echo", { text: "back" })), "back");
    });

    for (const [trouble, health, expected] of [
      ["hang-health", 300, /It does not answer: No answer from .* within 300 ms/],
      ["unhealthy", 60_000, /It says that it is unhealthy: a fever/],
    ] as const) {
      it(`is restarted (${trouble})`, async () => {
        covers("bus.health");
        await add(trouble, trouble, { healthEvery: 100, health, mostUnhealthy: 2 });
        const first = await bus.until(trouble, ({ state }) => state === "up");
        // Where the first that was seen up had been started again already, wait for the next.
        await bus.until(trouble, ({ pid, state }) => pid !== first.pid && state === "up");
        assert.ok(
          bus.lines.some((line) => line.includes("plugin.unhealthy") && expected.test(line)),
        );
        assert.equal(isAlive(first.pid), false);
        await assertOthersAreServed();
      });
    }

    it("does not hold a caller that cancels", async () => {
      const call = await addUp("holding");
      const controller = new AbortController();
      const hanging = call("hang", {}, controller);
      assert.equal(wordsOf(await call("echo", { text: "others" })), "others");
      controller.abort(new Error("never mind"));
      const result = await hanging;
      assert.equal(result.isError, true);
      assert.match(wordsOf(result), /'holding_hang' was cancelled/);
    });

    it("is reported to its caller when it hangs in the call, or between two pieces", async () => {
      // A hundred times what the calls take that are to be answered.
      const call = await addUp("hanging", { call: 3_000 });
      const hanging = [call("hang"), call("stall")];
      assert.equal(wordsOf(await call("echo", { text: "others" })), "others");
      for (const result of await Promise.all(hanging)) {
        assert.equal(result.isError, true);
        assert.match(wordsOf(result), /No answer from plugin 'hanging' to .* within 3000 ms/);
      }
      assert.equal(bus.status("hanging").restarts, 0);
      assert.equal(wordsOf(await call("echo", { text: "again" })), "again");
    });

    it("may log more than anybody can read", async () => {
      const call = await addUp("talker");
      const before = bus.lines.length;
      assert.equal(wordsOf(await call("chatter")), "done");
      const lines = bus.lines.length - before;
      assert.ok(lines < 500, `${lines} lines`);
      assert.ok(bus.orchestrator.plugin("talker").said.length <= 40);
    });
  });

  describe("a plugin that refuses to end", () => {
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
});
