import { echoCall, INITIALIZE } from "./echo-call.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { Program } from "./harness/program.ts";
import { installReferencePackages } from "./harness/reference-packages.ts";
import { median } from "./harness/spread.ts";
import { StdioLoad } from "./harness/stdio-load.ts";

const BARE = "bare loop";
const SYNC = "trunkline, sync handler";
const ASYNC = "trunkline, async handler";
const SDK = "MCP SDK 2.4.0 McpServer";

/** One tool call on standard input and output, the same bytes for every variant. */
export const stdioEcho: Bench = {
  name: "stdio-echo",
  plan: async ({ quick, offline }) => {
    const calls = quick ? 20_000 : 100_000;
    const missing = installReferencePackages(offline);
    const measure = (...args: string[]) => ({ measure: () => measureEcho(args, calls) });
    const sdk = { name: SDK, ...measure("bench/servers/mcp-sdk-echo.mjs") };
    return {
      describe: `tools/call over stdio, ${calls} pipelined, then 2000 one by one`,
      rounds: quick ? 3 : 9,
      quantities: [
        { key: "cpu", label: "CPU", unit: "µs", digits: 2 },
        { key: "wall", label: "wall", unit: "µs", digits: 2 },
        { key: "roundTrip", label: "round trip", unit: "µs", digits: 0 },
      ],
      variants: [
        { name: BARE, ...measure("bench/servers/bare.mjs") },
        { name: SYNC, ...measure("bench/servers/trunkline-echo.ts") },
        { name: ASYNC, ...measure("bench/servers/trunkline-echo.ts", "--async") },
        ...(missing === undefined ? [sdk] : []),
      ],
      skipped: missing === undefined ? [] : [{ name: SDK, reason: missing }],
      comparisons: [
        { quantity: "cpu", of: SYNC, against: BARE, atMost: 3 },
        { quantity: "cpu", of: ASYNC, against: BARE, atMost: 3 },
        { quantity: "cpu", of: SDK, against: SYNC, atLeast: 7 },
        { quantity: "roundTrip", of: SYNC, against: BARE },
      ],
    };
  },
};

const WARM_UP = 20_000;

async function measureEcho(args: string[], calls: number): Promise<Sample> {
  await using program = new Program(args);
  const load = new StdioLoad(program, echoCall);
  await load.open("initialize", INITIALIZE);
  await load.pipeline(WARM_UP);
  const [cpu, wall] = [cpuTime(program.pid), performance.now()];
  await load.pipeline(calls);
  const sample = {
    cpu: (cpuTime(program.pid) - cpu) / calls,
    wall: ((performance.now() - wall) * 1000) / calls,
    roundTrip: median(await load.serial(2_000)),
  };
  await program.finish();
  return sample;
}
