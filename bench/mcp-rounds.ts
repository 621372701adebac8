import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { echoCall, INITIALIZE } from "./echo-call.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime, cpuTimeWhenQuiet } from "./harness/cpu-time.ts";
import { Program, ROOT } from "./harness/program.ts";
import { type Exchange, StdioLoad } from "./harness/stdio-load.ts";

const BARE = "bare loop";
const AUDITED = "trunkline, on record";
const RELAY = "bare relay to a server";
const GATEWAY = "trunkline mcp, server behind it";
const REVIEWS = "trunkline mcp, review_list";

const CALLS = 1500;
const ROUNDS = 6;
const TRUNKLINE = join(ROOT, "dist/trunkline.js");
const UPSTREAM = join(import.meta.dirname, "servers/mcp-upstream.mjs");

/** The cheapest tool of our own. */
const reviewList: Exchange = {
  request: (id) =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call",` +
    `"params":{"name":"review_list","arguments":{}}}`,
  isRight: (_, result) =>
    JSON.stringify(result) ===
    `{"content":[{"type":"text","text":"No threads found."}],"structuredContent":{"threads":[]}}`,
};

/** The calls of a program that was just started, as a user's programs are, with the first one alone. */
export const mcpRounds: Bench = {
  name: "mcp-rounds",
  plan: async ({ quick }) => {
    const home = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
    const repository = join(home.path, "repository");
    mkdirSync(repository);
    execFileSync("git", ["init", "--quiet", repository]);
    const data = (): string => join(home.path, `data-${process.hrtime.bigint()}`);
    const server = { command: process.execPath, args: [UPSTREAM] };
    const behind = `mcpServers.echo=${JSON.stringify(server)}`;
    return {
      describe: `tools/call over stdio after a fresh start: one, then ${ROUNDS} rounds of ${CALLS}`,
      rounds: quick ? 3 : 9,
      quantities: [
        { key: "first", label: "first call, CPU", unit: "ms", digits: 1 },
        { key: "cpu", label: "CPU", unit: "µs", digits: 2 },
        { key: "last", label: "last round, CPU", unit: "µs", digits: 2 },
      ],
      variants: [
        { name: BARE, measure: () => measure(["bench/servers/bare.mjs"]) },
        { name: AUDITED, measure: () => measure(["bench/servers/trunkline-mcp.ts", data()]) },
        { name: RELAY, measure: () => measure(["bench/servers/bare-gateway.mjs"]) },
        {
          name: GATEWAY,
          measure: () => measure([TRUNKLINE, "mcp", "--data", data(), "--set", behind]),
        },
        {
          name: REVIEWS,
          measure: () => measure([TRUNKLINE, "mcp", "--data", data()], reviewList, repository),
        },
      ],
      comparisons: [
        { quantity: "cpu", of: AUDITED, against: BARE, atMost: 2.5 },
        { quantity: "last", of: AUDITED, against: BARE },
        { quantity: "cpu", of: GATEWAY, against: RELAY, atMost: 1.5 },
        { quantity: "last", of: GATEWAY, against: RELAY },
        { quantity: "cpu", of: REVIEWS },
        { quantity: "last", of: REVIEWS, atMost: 40 },
      ],
      end: () => home.remove(),
    };
  },
};

async function measure(args: string[], exchange = echoCall, cwd?: string): Promise<Sample> {
  await using program = new Program(args, cwd === undefined ? {} : { cwd });
  const load = new StdioLoad(program, exchange);
  await load.open("initialize", INITIALIZE);
  await load.list();
  const started = await cpuTimeWhenQuiet(program.pid);
  await load.pipeline(1);
  const begun = await cpuTimeWhenQuiet(program.pid);
  let last = begun;
  for (let round = 1; round <= ROUNDS; round++) {
    if (round === ROUNDS) last = cpuTime(program.pid);
    await load.pipeline(CALLS);
  }
  const end = cpuTime(program.pid);
  const sample = {
    first: (begun - started) / 1000,
    cpu: (end - begun) / (ROUNDS * CALLS),
    last: (end - last) / CALLS,
  };
  await program.finish();
  return sample;
}
