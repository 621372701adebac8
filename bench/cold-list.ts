import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { INITIALIZE } from "./echo-call.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { Program } from "./harness/program.ts";
import { StdioLoad } from "./harness/stdio-load.ts";

const BARE = "bare loop";
const NONE = "trunkline mcp, no servers";
const TEN = "trunkline mcp, ten servers";

/** From starting the program to its list of tools. The servers are known, and are not started. */
export const coldList: Bench = {
  name: "cold-list",
  plan: async ({ quick }) => {
    const home = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
    process.on("exit", () => void home.remove());
    const servers = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`s${i}`, UPSTREAM]));
    const config = join(home.path, "ten.jsonc");
    writeFileSync(config, JSON.stringify({ mcpServers: servers }));
    const env = {
      XDG_CACHE_HOME: join(home.path, "cache"),
      XDG_CONFIG_HOME: join(home.path, "config"),
      TRUNKLINE_DATA: join(home.path, "data"),
    };
    const none = () => start(["dist/trunkline.js", "mcp"], env, 0);
    const ten = () => start(["dist/trunkline.js", "mcp", "--config", config], env, 10);
    // The first start asks the servers and remembers; the next ones fill the compile cache.
    for (const warmUp of [ten, none, ten, none, ten]) await warmUp();
    return {
      describe: "node started, initialize and tools/list answered; with a warm compile cache",
      rounds: quick ? 7 : 41,
      quantities: [
        { key: "cpu", label: "CPU", unit: "ms", digits: 0 },
        { key: "wall", label: "list", unit: "ms", digits: 0 },
      ],
      variants: [
        { name: BARE, measure: () => start(["bench/servers/bare.mjs"], env, undefined) },
        { name: NONE, measure: none },
        { name: TEN, measure: ten },
      ],
      comparisons: [
        { quantity: "cpu", of: NONE, against: BARE, atMost: 1.3 },
        { quantity: "cpu", of: TEN, against: NONE },
      ],
    };
  },
};

const UPSTREAM = {
  command: process.execPath,
  args: [join(import.meta.dirname, "servers/mcp-upstream.mjs")],
};

async function start(
  args: string[],
  env: Record<string, string>,
  tools: number | undefined,
): Promise<Sample> {
  const began = performance.now();
  await using program = new Program(args, { env });
  const load = new StdioLoad(program, { request: String, isRight: () => false });
  await load.open("initialize", INITIALIZE);
  const { tools: listed } = (await load.list()) as { tools?: unknown[] };
  const wall = performance.now() - began;
  const cpu = cpuTime(program.pid) / 1000;
  if (listed?.length !== tools) {
    throw new Error(`${args.join(" ")} listed ${JSON.stringify(listed)}, not ${tools} tools`);
  }
  await program.finish();
  return { cpu, wall };
}
