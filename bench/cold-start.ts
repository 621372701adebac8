import { once } from "node:events";
import { mkdtempSync } from "node:fs";
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
const FIRST_MCP = "trunkline mcp, first start";
const FIRST_ACP = "trunkline acp, first start";

const ACP_INITIALIZE = {
  protocolVersion: 1,
  clientCapabilities: {},
  clientInfo: { name: "bench", version: "1.0.0" },
};

/** From starting the program to what an editor waits for; first starts have nothing cached. */
export const coldStart: Bench = {
  name: "cold-start",
  plan: async ({ quick }) => {
    const home = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
    const newUser = (): string => mkdtempSync(join(home.path, "user-"));
    const user = newUser();
    // Node writes its compile cache when a program ends.
    for (const command of ["mcp", "acp"]) await start(command, user);
    return {
      describe:
        "node started; mcp until tools/list, acp until initialize is answered, bare Node until it waits",
      rounds: quick ? 7 : 31,
      quantities: [
        { key: "cpu", label: "CPU", unit: "ms", digits: 0 },
        { key: "wall", label: "answer", unit: "ms", digits: 0 },
      ],
      variants: [
        { name: BARE, measure: bare },
        { name: MCP, measure: () => start("mcp", user) },
        { name: ACP, measure: () => start("acp", user) },
        { name: FIRST_MCP, measure: () => start("mcp", newUser()) },
        { name: FIRST_ACP, measure: () => start("acp", newUser()) },
      ],
      comparisons: [
        { quantity: "cpu", of: MCP, against: BARE, atMost: 2.5 },
        { quantity: "cpu", of: ACP, against: BARE, atMost: 2.5 },
        { quantity: "cpu", of: FIRST_MCP, against: BARE },
        { quantity: "cpu", of: FIRST_ACP, against: BARE },
      ],
      end: () => home.remove(),
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
