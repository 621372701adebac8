import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";

import { type Bridge, BusHome, type OrchestratorProgram, type Reply } from "../support/bus-home.ts";
import { until } from "../support/until.ts";

/** Processes by what they were started with: those that a program started, and they in turn. */
function processes(isWanted: (command: string, parent: number) => boolean): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
        const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        return state !== "Z" && isWanted(command, Number(parent));
      } catch {
        return false;
      }
    });
}

function engineOf(pid: number | undefined): number {
  const [engine] = processes(
    (command, parent) => parent === pid && /--experimental-ffi/.test(command),
  );
  assert.ok(engine, "no QUIC engine runs");
  return engine;
}

const textOf = ({ result }: Reply): string => result?.content?.[0]?.text ?? "";

/** An answer that is a result, or says honestly that there is none. */
function isHonest({ result, error }: Reply): boolean {
  if (error !== undefined) return error.code === -32603 && /orchestrator at/.test(error.message);
  return result?.isError !== true || /lost|not reachable|down|ended/.test(JSON.stringify(result));
}

interface Load {
  readonly replies: readonly Reply[];
  /** Waits until so many more calls were answered with a result. */
  more(count: number): Promise<void>;
  /** Ends it, when every call has been answered. */
  stop(): Promise<void>;
}

const isDone = ({ error, result }: Reply): boolean =>
  error === undefined && result?.isError !== true;

/** Eight callers, each with its next call as soon as the last one was answered. */
function load(bridge: Bridge, name: string): Load {
  const replies: Reply[] = [];
  const over = new AbortController();
  const caller = async (_: unknown, number: number): Promise<void> => {
    for (let call = 0; !over.signal.aborted; call++) {
      const reply = await bridge.call("note", {
        message: `${name} ${number} ${call}`,
        ms: call % 5,
      });
      replies.push(reply);
      if (!isDone(reply)) await wait(20);
    }
  };
  const callers = Array.from({ length: 8 }, caller);
  return {
    replies,
    async more(count) {
      const wanted = replies.filter(isDone).length + count;
      await until(() => replies.filter(isDone).length >= wanted);
    },
    async stop() {
      over.abort();
      await Promise.all(callers);
    },
  };
}

describe("an orchestrator that is killed", { timeout: 600_000 }, () => {
  it("is reported to callers on the bridge, which reconnects with it", async () => {
    await using home = new BusHome();
    const first = await home.orchestrator([home.testPlugin()]);
    await first.logged("plugin.up");
    await using bridge = home.bridge(first.addr);
    const slow = bridge.call("note", { message: "interrupted", ms: 60_000 });
    await until(() => home.recorded().includes("note interrupted"));
    await first.kill();

    const { error } = await slow;
    assert.equal(error?.code, -32603);
    assert.match(error.message, new RegExp(`^The orchestrator at ${first.addr} was lost`));
    assert.match(error.message, /may or may not have been carried out/);
    const { error: down } = await bridge.call("note", { message: "never sent" });
    assert.equal(down?.code, -32603);
    assert.match(down.message, /is not reachable; connecting again/);
    assert.deepEqual((await bridge.ask("ping")).result, {});

    const second = await home.orchestrator([home.testPlugin()], first.addr);
    await bridge.connected(2);
    assert.equal(textOf(await bridge.call("echo", { text: "back" })), "back");
    assert.equal(second.addr, first.addr);
    assert.deepEqual(home.recorded(), ["note interrupted"]);
  });

  it("leaves no process behind", async () => {
    await using home = new BusHome();
    const env = { BUS_TROUBLE: "ignore-sigterm" };
    const plugins = [home.testPlugin("one"), home.testPlugin("stubborn", env)];
    const orchestrator = await home.orchestrator(plugins, "quic://localhost:0");
    await orchestrator.logged("plugin.up", 2);
    const { pid } = orchestrator.program.child;
    const children = processes((_, parent) => parent === pid);
    const all = [...children, ...processes((_, parent) => children.includes(parent))];
    // Two plugins with an engine each, the orchestrator's own engine, and what watches them all.
    assert.ok(all.length >= 5, `${all.length} processes`);
    await orchestrator.kill();
    await until(() => !processes(() => true).some((one) => all.includes(one)));
  });
});

describe("a QUIC engine that is killed", { timeout: 600_000 }, () => {
  let home: BusHome;
  let orchestrator: OrchestratorProgram;
  let bridge: Bridge;
  let pluginPid: number;
  before(async () => {
    home = new BusHome();
    orchestrator = await home.orchestrator([home.testPlugin()], "quic://localhost:0");
    pluginPid = Number((await orchestrator.logged("plugin.up")).pid);
    bridge = home.bridge(orchestrator.addr);
    await bridge.ask("tools/list");
  });
  after(async () => {
    await bridge[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });

  it("fails calls with an honest error, or only delays those that may be repeated", async () => {
    const engine = engineOf(bridge.program.child.pid);
    // So long that both still run when the engine is killed, even on a busy machine.
    const note = bridge.call("note", { message: "once", ms: 3_000 });
    const look = bridge.call("look", { message: "twice", ms: 3_000 });
    await until(() => home.recorded().length >= 2);
    process.kill(engine, "SIGKILL");

    const { error } = await note;
    assert.equal(error?.code, -32603);
    assert.match(error.message, /may or may not have been carried out/);
    assert.match(textOf(await look), / twice$/);
    assert.deepEqual(home.recorded().toSorted(), ["look twice", "look twice", "note once"]);
  });

  for (const who of ["bridge", "plugin", "orchestrator"] as const) {
    it(`leaves no call unanswered under load, and everybody reconnects (${who})`, async () => {
      const pids = {
        bridge: bridge.program.child.pid,
        plugin: pluginPid,
        orchestrator: orchestrator.program.child.pid,
      };
      const calls = load(bridge, who);
      await calls.more(50);
      // Between two calls, a kill costs none: then it is done again.
      do {
        process.kill(engineOf(pids[who]), "SIGKILL");
        await calls.more(50);
      } while (calls.replies.every(isDone));
      await calls.stop();

      for (const reply of calls.replies) assert.ok(isHonest(reply), JSON.stringify(reply));
      // No call was made twice, and the plugin is the one that it was.
      const made = home.recorded().filter((line) => line.startsWith(`note ${who} `));
      assert.equal(new Set(made).size, made.length);
      assert.ok(made.length >= 100, `${made.length} calls were made`);
      const { out } = await orchestrator.plugin("list", "--json");
      const [plugin] = (JSON.parse(out) as { plugins: Record<string, unknown>[] }).plugins;
      assert.deepEqual([plugin?.state, plugin?.pid, plugin?.restarts], ["up", pluginPid, 0]);
    });
  }
});
