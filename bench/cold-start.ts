import { once } from "node:events";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { INITIALIZE } from "./echo-call.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { Program } from "./harness/program.ts";
import { StdioLoad } from "./harness/stdio-load.ts";

const TRUNKLINE = "dist/trunkline.js";
const BARE = "bare Node";
const MCP = "trunkline mcp";
const ACP = "trunkline acp";

const ACP_INITIALIZE = {
  protocolVersion: 1,
  clientCapabilities: {},
  clientInfo: { name: "bench", version: "1.0.0" },
};

/** From starting the program to what an editor waits for. */
export const coldStart: Bench = {
  name: "cold-start",
  plan: async ({ quick }) => {
    const user = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
    // Node writes its compile cache when a program ends.
    for (const command of ["mcp", "acp"]) await start(command, user.path);
    return {
      describe:
        "node started; mcp until tools/list, acp until initialize is answered, bare Node until it waits",
      rounds: quick ? 9 : 31,
      quantities: [
        { key: "cpu", label: "CPU", unit: "ms", digits: 0 },
        { key: "wall", label: "answer", unit: "ms", digits: 0 },
      ],
      variants: [
        { name: BARE, measure: bare },
        { name: MCP, measure: () => start("mcp", user.path) },
        { name: ACP, measure: () => start("acp", user.path) },
      ],
      comparisons: [
        {
          row: "start of `mcp` to `tools/list`, processor time",
          ...{ quantity: "cpu", of: MCP, against: BARE, atMost: 2.5, peers: "7–17 ¹" },
        },
        {
          row: "start of `acp` to `initialize`, processor time",
          ...{ quantity: "cpu", of: ACP, against: BARE, atMost: 2.5 },
        },
      ],
      end: () => user.remove(),
    };
  },
};

async function bare(): Promise<Sample> {
  const began = performance.now();
  await using program = new Program(["--eval", "process.stdin.resume(); fs.writeSync(1, 'up')"]);
  await program.until(once(program.stdout, "data"));
  const sample = { cpu: cpuTime(program.pid) / 1000, wall: performance.now() - began };
  await program.finish();
  return sample;
}

async function start(command: string, user: string): Promise<Sample> {
  const env = {
    HOME: user,
    XDG_CACHE_HOME: join(user, "cache"),
    XDG_CONFIG_HOME: join(user, "config"),
    TRUNKLINE_DATA: join(user, "data"),
  };
  const began = performance.now();
  await using program = new Program([TRUNKLINE, command], { env });
  const load = new StdioLoad(program, { request: String, isRight: () => false });
  await load.open("initialize", command === "acp" ? ACP_INITIALIZE : INITIALIZE);
  if (command === "mcp") await load.list();
  const sample = { cpu: cpuTime(program.pid) / 1000, wall: performance.now() - began };
  await program.finish();
  return sample;
}
