import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { echoCall, INITIALIZE } from "./echo-call.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { Program } from "./harness/program.ts";
import { StdioLoad } from "./harness/stdio-load.ts";

const BARE = "bare loop";
const DOOR = "trunkline, MCP door";
const AUDITED = "the same, on record";
const RELAY = "bare relay to a server";
const GATEWAY = "trunkline mcp, server behind it";

const WARM_UP = 20_000;

/** tools/call as the product serves it, and as it forwards it to another server. */
export const mcpStdio: Bench = {
  name: "mcp-stdio",
  plan: async ({ quick }) => {
    const calls = quick ? 20_000 : 100_000;
    const measure = (...args: string[]) => ({ measure: () => measureCalls(args, calls) });
    return {
      describe: `tools/call over stdio through the toolbox, ${calls} pipelined`,
      rounds: quick ? 3 : 9,
      quantities: [
        { key: "cpu", label: "CPU", unit: "µs", digits: 2 },
        { key: "wall", label: "wall", unit: "µs", digits: 2 },
      ],
      variants: [
        { name: BARE, ...measure("bench/servers/bare.mjs") },
        { name: DOOR, ...measure("bench/servers/trunkline-mcp.ts") },
        { name: AUDITED, measure: () => measureAudited(calls) },
        { name: RELAY, ...measure("bench/servers/bare-gateway.mjs") },
        { name: GATEWAY, measure: () => measureGateway(calls) },
      ],
      comparisons: [
        { quantity: "cpu", of: DOOR, against: BARE, atMost: 3.5 },
        { quantity: "cpu", of: AUDITED, against: BARE, atMost: 2.5 },
        { quantity: "cpu", of: GATEWAY, against: RELAY, atMost: 1.5 },
      ],
    };
  },
};

async function measureAudited(calls: number): Promise<Sample> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
  return await measureCalls(["bench/servers/trunkline-mcp.ts", folder.path], calls);
}

async function measureGateway(calls: number): Promise<Sample> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
  const server = { command: process.execPath, args: [join(SERVERS, "mcp-upstream.mjs")] };
  const set = `mcpServers.echo=${JSON.stringify(server)}`;
  const args = ["dist/trunkline.js", "mcp", "--data", folder.path, "--set", set];
  return await measureCalls(args, calls);
}

const SERVERS = join(import.meta.dirname, "servers");

async function measureCalls(args: string[], calls: number): Promise<Sample> {
  await using program = new Program(args);
  const load = new StdioLoad(program, echoCall);
  await load.open("initialize", INITIALIZE);
  await load.list();
  await load.pipeline(WARM_UP);
  const [cpu, wall] = [cpuTime(program.pid), performance.now()];
  await load.pipeline(calls);
  const sample = {
    cpu: (cpuTime(program.pid) - cpu) / calls,
    wall: ((performance.now() - wall) * 1000) / calls,
  };
  await program.finish();
  return sample;
}
