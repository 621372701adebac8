import { once } from "node:events";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { INITIALIZE } from "./echo-call.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTimeOfTrees } from "./harness/process-tree.ts";
import { Program, ROOT } from "./harness/program.ts";
import { median } from "./harness/spread.ts";
import { type Exchange, StdioLoad } from "./harness/stdio-load.ts";

const RELAY = "bare relay to a server";
const NOW = "whole way, TLS";
const BEFORE = "the program before";

const AT_ONCE = 32;
const WARM_UP = 1_000;
const TEXT = "x".repeat(1_000);
const LISTEN = "tls://localhost:0";

/** A tool call of an MCP client: bridge, orchestrator, plugin, each a process as users run it. */
export const bus: Bench = {
  name: "bus",
  plan: async ({ quick, before }) => {
    const calls = quick ? 2_000 : 3_000;
    const earlier = { name: BEFORE, measure: () => measureWay(before ?? "", calls) };
    const reason = "--before names no folder with an earlier program";
    return {
      describe: `tools/call with 1 KB there and back, ${calls} calls, ${AT_ONCE} at once; then one by one; all processes are counted but the client`,
      rounds: quick ? 5 : 9,
      quantities: [
        { key: "cpu", label: `CPU, ${AT_ONCE} at once`, unit: "µs", digits: 0 },
        { key: "serial", label: "CPU, one by one", unit: "µs", digits: 0 },
        { key: "p50", label: "one by one, p50", unit: "ms", digits: 3 },
      ],
      variants: [
        { name: RELAY, measure: () => measureRelay(calls) },
        { name: NOW, measure: () => measureWay(ROOT, calls) },
        ...(before === undefined ? [] : [earlier]),
      ],
      skipped: before === undefined ? [{ name: BEFORE, reason }] : [],
      comparisons: [
        {
          row: "bus, whole way over TLS, p50, against the program before",
          ...{ quantity: "p50", of: NOW, against: BEFORE, atMost: 2.5 },
        },
        { quantity: "serial", of: NOW, against: BEFORE },
        { quantity: "cpu", of: NOW, against: BEFORE },
        {
          row: "bus, whole way over TLS, p50, against a bare relay on pipes",
          ...{ quantity: "p50", of: NOW, against: RELAY },
        },
      ],
    };
  },
};

const CALL: Exchange = {
  request: (id) =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":{"text":"${TEXT}"}}}`,
  isRight: (_, result) =>
    (result as { content: { text: string }[] }).content[0]?.text.length === TEXT.length,
};

async function measureRelay(calls: number): Promise<Sample> {
  await using relay = new Program([join(import.meta.dirname, "servers/bare-gateway.mjs")]);
  return await measure(relay, [relay], calls);
}

/** `root` is a checkout that was built. */
async function measureWay(root: string, calls: number): Promise<Sample> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
  const trunkline = join(root, "dist/trunkline.js");
  const plugin = { command: process.execPath, args: [join(root, "bench/servers/echo-plugin.ts")] };
  const where = ["--data", folder.path, "--certs-dir", join(folder.path, "certs")];
  const set = ["--set", `bus.plugins.bench=${JSON.stringify(plugin)}`];
  const listen = ["--listen", LISTEN, "--json"];
  await using orchestrator = new Program([trunkline, "orchestrator", ...listen, ...where, ...set]);
  const [said] = (await orchestrator.until(once(orchestrator.stdout, "data"))) as [Buffer];
  const { addr } = JSON.parse(said.toString()) as { addr: string };
  const address = `tls://${addr.replace(/^\w+:\/\//, "")}`;
  await using bridge = new Program([trunkline, "mcp", "--orchestrator-addr", address, ...where]);
  return await measure(bridge, [orchestrator, bridge], calls);
}

async function measure(door: Program, all: readonly Program[], calls: number): Promise<Sample> {
  const load = new StdioLoad(door, CALL);
  await load.open("initialize", INITIALIZE);
  await load.list();
  await load.window(WARM_UP, AT_ONCE);
  const pids = all.map(({ pid }) => pid);
  const before = cpuTimeOfTrees(pids);
  await load.window(calls, AT_ONCE);
  const cpu = (cpuTimeOfTrees(pids) - before) / calls;
  const beforeSerial = cpuTimeOfTrees(pids);
  const times = await load.serial(calls / 5);
  const serial = (cpuTimeOfTrees(pids) - beforeSerial) / times.length;
  return { cpu, serial, p50: median(times) / 1000 };
}
