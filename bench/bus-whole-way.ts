import { once } from "node:events";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measureCalls } from "./bus.ts";
import { INITIALIZE } from "./echo-call.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTimeOfTrees } from "./harness/process-tree.ts";
import { Program } from "./harness/program.ts";
import { type Exchange, StdioLoad } from "./harness/stdio-load.ts";

const HOP = "one hop";
const HOP_TLS = "one hop, TLS";
const HOP_QUIC = "one hop, QUIC";
const HOPS = "three bare hops";
const WAY = "whole way";
const WAY_QUIC = "whole way, QUIC";

const TRUNKLINE = "dist/trunkline.js";
const PLUGIN = join(import.meta.dirname, "servers/echo-plugin.ts");
const AT_ONCE = 32;
const WARM_UP = 1_000;
const TEXT = "x".repeat(1_000);

/** A tool call of an MCP client: bridge, orchestrator, plugin, each a process as users run it. */
export const busWholeWay: Bench = {
  name: "bus-whole-way",
  plan: async ({ quick }) => {
    const calls = quick ? 2_000 : 3_000;
    const hop = (scheme: string) => ({ measure: () => measureCalls("bus", scheme, 1, calls) });
    const way = (scheme: string) => ({ measure: () => measureWay(scheme, calls) });
    return {
      describe: `tools/call with 1 KB there and back, ${calls} calls, ${AT_ONCE} at once; then one by one; all processes are counted but the client`,
      rounds: quick ? 3 : 5,
      quantities: [
        { key: "cpu", label: `CPU, ${AT_ONCE} at once`, unit: "µs", digits: 0 },
        { key: "serial", label: "CPU, one by one", unit: "µs", digits: 0 },
        { key: "p50", label: "one by one, p50", unit: "ms", digits: 3 },
      ],
      variants: [
        { name: HOP, ...hop("") },
        { name: HOPS, measure: () => measureCalls("bus", "", 1, calls, 2) },
        { name: WAY, ...way("") },
        { name: HOP_TLS, ...hop("tls://") },
        { name: HOP_QUIC, ...hop("quic://") },
        { name: WAY_QUIC, ...way("quic://") },
      ],
      comparisons: [
        { quantity: "p50", of: WAY, atMost: 1 },
        // The targets are for hops as they are between machines. One on this machine is cheaper, so the
        // whole way is more of them, though it is cheaper, too.
        { quantity: "serial", of: WAY, against: HOP_TLS, atMost: 3 },
        { quantity: "cpu", of: WAY, against: HOP_TLS, atMost: 3 },
        { quantity: "serial", of: WAY_QUIC, against: HOP_QUIC, atMost: 3 },
        { quantity: "cpu", of: WAY_QUIC, against: HOP_QUIC, atMost: 3 },
        { quantity: "serial", of: WAY, against: HOP },
        { quantity: "cpu", of: WAY, against: HOP },
        // One pair of programs that call each other without a pause has both processors to itself, and
        // all that it needs in their caches. Programs that take turns do not.
        { quantity: "serial", of: HOPS, against: HOP },
        { quantity: "serial", of: WAY, against: HOPS },
        { quantity: "cpu", of: WAY, against: HOPS },
        { quantity: "p50", of: WAY, against: WAY_QUIC },
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

async function measureWay(scheme: string, calls: number): Promise<Sample> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
  const plugin = { command: process.execPath, args: [PLUGIN] };
  const where = ["--data", folder.path, "--certs-dir", join(folder.path, "certs")];
  const set = ["--set", `bus.plugins.bench=${JSON.stringify(plugin)}`];
  const listen = ["--listen", `${scheme}localhost:0`, "--json"];
  await using orchestrator = new Program([TRUNKLINE, "orchestrator", ...listen, ...where, ...set]);
  const [said] = (await orchestrator.until(once(orchestrator.stdout, "data"))) as [Buffer];
  const { addr } = JSON.parse(said.toString()) as { addr: string };
  const address = `${scheme}${addr.replace(/^\w+:\/\//, "")}`;
  await using bridge = new Program([TRUNKLINE, "mcp", "--orchestrator-addr", address, ...where]);
  const load = new StdioLoad(bridge, CALL);
  await load.open("initialize", INITIALIZE);
  await load.list();
  await load.window(WARM_UP, AT_ONCE);
  const both = [orchestrator.pid, bridge.pid];
  const before = cpuTimeOfTrees(both);
  await load.window(calls, AT_ONCE);
  const cpu = (cpuTimeOfTrees(both) - before) / calls;
  const beforeSerial = cpuTimeOfTrees(both);
  const times = await load.serial(calls / 5);
  const serial = (cpuTimeOfTrees(both) - beforeSerial) / (calls / 5);
  const p50 = (times.toSorted((a, b) => a - b)[times.length >> 1] ?? NaN) / 1000;
  return { cpu, serial, p50 };
}
