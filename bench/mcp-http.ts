import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bench, Sample } from "./harness/bench.ts";
import { MCP_CALLS, measureHttp, reach } from "./harness/http-load.ts";
import { otherGateways } from "./harness/other-gateways.ts";
import { Program } from "./harness/program.ts";

const BARE = "bare node:http";
const RELAY = "bare relay to a server";
const SERVE = "trunkline serve, server behind it";
const SERVERS = join(import.meta.dirname, "servers");

/** tools/call in a session, one POST each, over keep-alive connections. */
export const mcpHttp: Bench = {
  name: "mcp-http",
  plan: async ({ quick, offline }) => {
    const calls = quick ? 2_000 : 4_000;
    const others = quick ? { variants: [], skipped: [] } : await otherGateways(offline, calls);
    const bare = (file: string) => ({ measure: () => measureBare(join(SERVERS, file), calls) });
    return {
      describe: `tools/call over HTTP, ${calls} POSTs, 32 at once`,
      rounds: quick ? 5 : 7,
      quantities: [
        { key: "cpu", label: "CPU", unit: "µs", digits: 0 },
        { key: "wall", label: "wall", unit: "µs", digits: 0 },
      ],
      variants: [
        { name: BARE, ...bare("http-bare.mjs") },
        { name: RELAY, ...bare("http-relay-bare.mjs") },
        { name: SERVE, measure: () => measureServe(calls) },
        ...others.variants,
      ],
      skipped: others.skipped,
      comparisons: [
        {
          row: "MCP call over HTTP through `serve`, on record, with the pipe to its server",
          ...{ quantity: "cpu", of: SERVE, against: BARE, atMost: 2.5, peers: "5.8–6.5 ¹" },
        },
        {
          row: "hop through `serve` to a server, HTTP",
          ...{ quantity: "cpu", of: SERVE, against: RELAY, atMost: 2.5, peers: "2.2–5.0 ²" },
        },
        ...others.variants.map(({ name }) => ({ quantity: "cpu", of: name, against: RELAY })),
      ],
    };
  },
};

/** Measures a server that tells its port, and wants no token. */
async function measureBare(file: string, count: number): Promise<Sample> {
  await using program = new Program([file], { more: ["ipc"] });
  const port = (await program.nextMessage()) as number;
  const sample = await measureHttp(program, reach(port, "none"), MCP_CALLS, count);
  await program.finish();
  return sample;
}

async function measureServe(count: number): Promise<Sample> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
  const server = { command: process.execPath, args: [join(SERVERS, "mcp-upstream.mjs")] };
  const set = ["--set", `mcpServers.echo=${JSON.stringify(server)}`];
  const args = ["serve", "--port", "0", "--json", "--data", folder.path, ...set];
  await using program = new Program(["dist/trunkline.js", ...args]);
  const [said] = (await program.until(once(program.stdout, "data"))) as [Buffer];
  const { mcp, tokenFile } = JSON.parse(said.toString()) as { mcp: string; tokenFile: string };
  const at = reach(Number(new URL(mcp).port), readFileSync(tokenFile, "utf8").trim());
  return await measureHttp(program, at, MCP_CALLS, count);
}
