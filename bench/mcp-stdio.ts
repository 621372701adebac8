import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { echoCall, INITIALIZE } from "./echo-call.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { Program } from "./harness/program.ts";
import { installReferencePackages } from "./harness/reference-packages.ts";
import { StdioLoad } from "./harness/stdio-load.ts";

const BARE = "bare loop";
const RECORD = "trunkline, on record";
const RELAY = "bare relay to a server";
const GATEWAY = "trunkline mcp, server behind it";
const SDK = "MCP SDK 2.4.0 McpServer";

const WARM_UP = 20_000;
const SERVERS = join(import.meta.dirname, "servers");

/** tools/call as the product serves it, and as it forwards it to another server. */
export const mcpStdio: Bench = {
  name: "mcp-stdio",
  plan: async ({ quick, offline }) => {
    const calls = quick ? 20_000 : 100_000;
    const missing = quick ? undefined : installReferencePackages(offline);
    const measure = (...args: string[]) => ({ measure: () => measureCalls(args, calls) });
    const sdk = { name: SDK, ...measure(join(SERVERS, "mcp-sdk-echo.mjs")) };
    return {
      describe: `tools/call over stdio through the toolbox, ${calls} pipelined`,
      rounds: quick ? 5 : 9,
      quantities: [
        { key: "cpu", label: "CPU", unit: "µs", digits: 2 },
        { key: "wall", label: "wall", unit: "µs", digits: 2 },
      ],
      variants: [
        { name: BARE, ...measure(join(SERVERS, "bare.mjs")) },
        { name: RECORD, measure: () => measureRecorded(calls) },
        { name: RELAY, ...measure(join(SERVERS, "bare-gateway.mjs")) },
        { name: GATEWAY, measure: () => measureGateway(calls) },
        ...(quick || missing !== undefined ? [] : [sdk]),
      ],
      skipped: missing === undefined ? [] : [{ name: SDK, reason: missing }],
      comparisons: [
        {
          row: "MCP call on stdio, on record",
          ...{ quantity: "cpu", of: RECORD, against: BARE, atMost: 6, peers: "15–35 ¹" },
        },
        {
          row: "hop through `mcp` to a server, stdio",
          ...{ quantity: "cpu", of: GATEWAY, against: RELAY, atMost: 5, peers: "20 ¹" },
        },
        { quantity: "cpu", of: SDK, against: BARE },
      ],
    };
  },
};

/** The parts of `trunkline mcp`, with a tool that does nothing: the program has none. */
async function measureRecorded(calls: number): Promise<Sample> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
  return await measureCalls([join(SERVERS, "trunkline-mcp.ts"), folder.path], calls);
}

async function measureGateway(calls: number): Promise<Sample> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
  const server = { command: process.execPath, args: [join(SERVERS, "mcp-upstream.mjs")] };
  const set = `mcpServers.echo=${JSON.stringify(server)}`;
  const args = ["dist/trunkline.js", "mcp", "--data", folder.path, "--set", set];
  return await measureCalls(args, calls);
}

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
