import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";

import { type Bridge, BusHome, type OrchestratorProgram, type Reply } from "../support/bus-home.ts";
import { seeded } from "../fuzz/fuzz-run.ts";
import { oneIn, rounds } from "../support/full-run.ts";

const MiB = 1024 * 1024;
/** How many calls are made during a flood, and for how many milliseconds: it takes all processors. */
const CALLS = rounds({ few: 11, all: 25 });
const FLOOD = rounds({ few: 100, all: 400 });
/** Of the kinds of flood one in so many, in `npm test`: others each day. */
const PART = 7;
const textOf = ({ result }: Reply): string => result?.content?.[0]?.text ?? "";

/** A process and its QUIC engines; not its plugins. */
function withEngines(pid: number | undefined): string[] {
  const engines = readdirSync("/proc").filter((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const parent = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
      const command = readFileSync(`/proc/${name}/cmdline`, "utf8");
      return Number(parent) === pid && /--experimental-ffi/.test(command);
    } catch {
      return false;
    }
  });
  return [String(pid), ...engines];
}

/** Bytes that processes have in memory. */
function memoryOf(pids: readonly string[]): number {
  return pids
    .map((one) => readFileSync(`/proc/${one}/status`, "utf8"))
    .map((status) => Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024)
    .reduce((sum, size) => sum + size, 0);
}

/** How long half of some calls take at most: so many, and for so long, in milliseconds. */
async function medianOf(bridge: Bridge, calls: number, time = 0, each = () => {}): Promise<number> {
  const times: number[] = [];
  const end = performance.now() + time;
  while (times.length < calls || performance.now() < end) {
    const began = performance.now();
    const reply = await bridge.call("echo", { text: "well" });
    assert.equal(textOf(reply), "well", JSON.stringify(reply));
    times.push(performance.now() - began);
    each();
  }
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
}

describe("a plugin that floods the bus, or sends invalid answers", { timeout: 600_000 }, () => {
  let home: BusHome;
  let orchestrator: OrchestratorProgram;
  let bridge: Bridge;
  let rogue: Bridge;
  before(async () => {
    home = new BusHome();
    const huge = home.roguePlugin("huge", { BUS_ROGUE: "huge" });
    orchestrator = await home.orchestrator([home.testPlugin(), home.roguePlugin(), huge]);
    await orchestrator.logged("plugin.up", 3);
    [bridge, rogue] = [home.bridge(orchestrator.addr), home.bridge(orchestrator.addr)];
  });
  after(async () => {
    await bridge[Symbol.asyncDispose]();
    await rogue[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });

  it("has too long parts of its offer left out", async () => {
    const { leftOut } = await orchestrator.logged("plugin.offers-too-much");
    assert.equal(leftOut, 20);
    const listed = await bridge.ask("tools/list");
    assert.ok(JSON.stringify(listed).length < 2 * MiB);
    const names = listed.result?.tools?.map(({ name }) => name) ?? [];
    assert.ok(names.includes("huge_attack") && names.includes("echo"), names.join());
  });

  const answers: Readonly<Record<string, RegExp>> = {
    "wrong-id": /gave the answer to 'trunkline-0'/,
    half: /aborted the exchange before it had answered/,
    "end-early": /Cannot read a frame: only \d+ of its \d+ bytes came/,
    "nothing-at-all": /Cannot read a frame/,
    garbage: /Cannot read a PluginResponse/,
    "4-gib": /4294967295 bytes, the limit is 16777216/,
  };
  it("fails only its own calls, with a message", async () => {
    for (const [act, expected] of Object.entries(answers)) {
      const [bad, good] = await Promise.all([
        bridge.call("attack", { act }),
        bridge.call("echo", { text: act }),
      ]);
      assert.equal(bad.result?.isError, true, act);
      assert.match(JSON.stringify(bad.result), expected);
      assert.equal(textOf(good), act);
    }
    const { out } = await orchestrator.plugin("list", "--json");
    const { plugins } = JSON.parse(out) as { plugins: { state: string; restarts: number }[] };
    for (const { state, restarts } of plugins) assert.deepEqual([state, restarts], ["up", 0]);
  });

  const kinds = ["events", "storage", "calls", "lists", "logs", "unfinished", "streams"];
  it("harms itself, and hardly affects others", async (t) => {
    const isTried = oneIn(PART, seeded(t));
    for (const kind of kinds.filter((_, place) => isTried(place))) {
      const alone = await medianOf(bridge, CALLS);
      const pids = withEngines(orchestrator.program.child.pid);
      const before = memoryOf(pids);
      let most = before;
      await rogue.call("attack", { act: "flood", kind });
      const median = await medianOf(bridge, CALLS, FLOOD, () => {
        most = Math.max(most, memoryOf(pids));
      });
      await rogue.call("attack", { act: "stop" });
      const grown = (most - before) / MiB;
      const times = `${median.toFixed(1)} ms, alone ${alone.toFixed(1)}`;
      t.diagnostic(`${kind}: ${times}; ${Math.round(grown)} MiB`);
      // It has processes of its own that take the machine's time; but nobody waits in its queues.
      const most50 = 20 * alone + 200;
      assert.ok(median < most50, `with ${kind} a call takes ${median} ms, alone ${alone} ms`);
      assert.ok(grown < 250, `by ${kind} the orchestrator has grown by ${Math.round(grown)} MiB`);
      assert.equal(textOf(await bridge.call("echo", { text: "after" })), "after");
    }
  });

  it("does not fill the log", () => {
    const { length } = orchestrator.program.stderr;
    assert.ok(length < 2 * MiB, `${length} characters were logged`);
  });
});
