// Long: an orchestrator and its plugins.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { answerOf } from "../../src/protocol/bus/answer.ts";
import type { PluginLimits } from "../../src/plugin/plugin/settings.ts";
import type { BusClient } from "../../src/protocol/bus/connect.ts";
import { BusHome } from "../support/bus-home.ts";
import { BusInProcess, wordsOf } from "../support/bus-in-process.ts";
import { keepEngine } from "../support/quic-pair.ts";
import { until } from "../support/until.ts";

/** So long that a test fails before it is over. */
const FOR_EVER = 3_600_000;

async function call(client: BusClient, toolName: string, args: Record<string, string> = {}) {
  const answer = await client.ask({ case: "toolCall", value: { toolName, arguments: args } });
  return answerOf("It", answer, "toolCall");
}

describe("a plugin that never becomes ready", { timeout: 600_000 }, () => {
  keepEngine();
  const limits = { firstList: FOR_EVER, ready: FOR_EVER };

  it("does not delay calls of other plugins", async () => {
    await using home = new BusHome();
    const plugins = [home.testPlugin("well"), home.testPlugin("ill", { BUS_TROUBLE: "no-ready" })];
    await using bus = await BusInProcess.open(home, plugins, limits);
    const client = bus.guest();
    // The first call waits for its own plugin to get up.
    for (const text of ["first", "second"]) {
      assert.equal((await call(client, "echo", { text })).result?.text, text);
    }
    assert.equal(bus.status("ill").state, "starting");
  });

  it("is waited for by calls of a tool that it might have, and is named in the error", async () => {
    await using home = new BusHome();
    const plugins = [home.testPlugin("ill", { BUS_TROUBLE: "no-ready" })];
    await using bus = await BusInProcess.open(home, plugins, { firstList: 300, ready: FOR_EVER });
    const { errorCode, errorMessage } = await call(bus.guest(), "nobodys");
    assert.equal(errorCode, "tool_not_found");
    assert.match(
      errorMessage,
      /^Unknown tool: nobodys\. Plugin 'ill' is not up yet and may have it/,
    );
  });

  it("is not waited for once its tools are known", async () => {
    await using home = new BusHome();
    await using bus = await BusInProcess.open(home, [home.testPlugin("well")], limits);
    await bus.until("well", ({ state }) => state === "up");
    const { errorMessage } = await call(bus.guest(), "nobodys");
    assert.equal(errorMessage, "Unknown tool: nobodys");
  });

  it("delays no list after its first moments", async () => {
    await using home = new BusHome();
    const plugins = [home.testPlugin("well"), home.testPlugin("ill", { BUS_TROUBLE: "no-ready" })];
    await using bus = await BusInProcess.open(home, plugins, { ...limits, firstList: 500 });
    await bus.until("well", ({ state }) => state === "up");
    // On a busy machine the first moments may begin later than the wait for them.
    while (bus.orchestrator.known() !== undefined) await bus.orchestrator.known();
    assert.equal(bus.status("ill").state, "starting");
  });
});

describe("many calls of one plugin", { timeout: 600_000 }, () => {
  let home: BusHome;
  let bus: BusInProcess;
  before(async () => {
    home = new BusHome();
    bus = await BusInProcess.open(home, []);
  });
  after(async () => {
    await bus[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });
  /** Has this plugin run, and no other; if it runs already, it goes on. */
  const run = async (id: string, limits: Partial<PluginLimits> = {}, on = bus): Promise<void> => {
    await on.configure([home.testPlugin(id, { BUS_TROUBLE: "record-health" })], limits);
    await on.until(id, ({ state }) => state === "up");
  };

  it("do not delay its health check", async () => {
    await run("watched", { healthEvery: 100, health: 2_000, mostUnhealthy: 1 });
    const { pid } = bus.status("watched");
    const controller = new AbortController();
    const hanging = Array.from({ length: 300 }, () => bus.call("hang", {}, controller));
    await bus.until("watched", ({ calls, waiting }) => calls === 128 && waiting === 172);
    // Asked while they hang, whoever was asked before.
    const asked = (): number => home.recorded().filter((line) => line === "health").length;
    const before = asked();
    await until(() => asked() >= before + 5);
    const { state, pid: same, restarts, health } = bus.status("watched");
    assert.deepEqual([state, same, restarts, health], ["up", pid, 0, "healthy: ok"]);
    controller.abort(new Error("enough"));
    await Promise.all(hanging);
    await bus.until("watched", ({ calls, waiting }) => calls === 0 && waiting === 0);
    assert.equal(wordsOf(await bus.call("echo", { text: "again" })), "again");
  });

  const callsThatCall = async (on: BusInProcess): Promise<void> => {
    // More at a time, since a busy machine may not manage all handshakes of TLS in time at once.
    for (const length of [16, 32, 48, 200]) {
      const nested = Array.from({ length }, () => on.call("again", { depth: 1 }));
      const words = (await Promise.all(nested)).map(wordsOf);
      assert.deepEqual([...new Set(words)], ["deep enough"]);
    }
  };

  it("that cause further calls of it all complete (quic)", async () => {
    await run("tools.test");
    await callsThatCall(bus);
  });

  it("that cause further calls of it all complete (tls)", async () => {
    await using overTls = await BusInProcess.open(home, [], { listen: "tls://localhost:0" });
    await run("tools.test", {}, overTls);
    await callsThatCall(overTls);
  });

  it("that cause nested and concurrent calls complete", async () => {
    await run("tools.test");
    const deep = Array.from({ length: 140 }, () => bus.call("again", { depth: 4 }));
    // Ten times forty are more than one plugin may have at once, too.
    const wide = Array.from({ length: 10 }, () => bus.call("fan", { calls: 40 }));
    const words = (await Promise.all([...deep, ...wide])).map(wordsOf);
    assert.deepEqual([...new Set(words)], ["deep enough", "40"]);
  });

  it("without end are refused with a message, and others continue", async () => {
    await run("endless", { nestedCalls: 50 });
    const result = await bus.call("again");
    assert.equal(result.isError, true);
    assert.match(wordsOf(result), /already answers 50 calls that plugins have made/);
    assert.equal(wordsOf(await bus.call("again", { depth: 3 })), "deep enough");
  });
});
