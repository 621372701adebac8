import { mkdirSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { INITIALIZE } from "./echo-call.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { Program } from "./harness/program.ts";
import { StdioLoad } from "./harness/stdio-load.ts";

const BARE = "bare loop";
const MCP = "trunkline mcp, alone";
const MCP_BESIDE = "trunkline mcp, beside serve";
const ACP = "trunkline acp, alone";
const ACP_BESIDE = "trunkline acp, beside serve";
const TRUNKLINE = "dist/trunkline.js";

const ACP_INITIALIZE = {
  protocolVersion: 1,
  clientCapabilities: {},
  clientInfo: { name: "bench", version: "1.0.0" },
};

/** From starting the program to what a client waits for, when `serve` runs and when it does not. */
export const coldRelay: Bench = {
  name: "cold-relay",
  plan: async ({ quick }) => {
    const home = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
    const environment = (name: string): Record<string, string> => {
      mkdirSync(join(home.path, name, "cache"), { recursive: true });
      return {
        XDG_CACHE_HOME: join(home.path, name, "cache"),
        XDG_CONFIG_HOME: join(home.path, name, "config"),
        TRUNKLINE_DATA: join(home.path, name, "data"),
      };
    };
    const alone = environment("alone");
    const beside = environment("beside");
    const gateway = new Program([TRUNKLINE, "serve", "--port", "0", "--json"], { env: beside });
    await gateway.until(once(gateway.stdout, "data"));
    const mcp = (env: Record<string, string>) => () => start([TRUNKLINE, "mcp"], env, "list");
    const acp = (env: Record<string, string>) => () => start([TRUNKLINE, "acp"], env, "acp");
    const ours = [mcp(alone), mcp(beside), acp(alone), acp(beside)];
    // Node writes its compile cache when a program ends.
    for (let warmUp = 0; warmUp < 2; warmUp++) for (const each of ours) await each();
    const names = [MCP, MCP_BESIDE, ACP, ACP_BESIDE];
    return {
      describe:
        "node started; mcp until initialize and tools/list, acp until initialize is answered; not for the first time",
      rounds: quick ? 7 : 31,
      quantities: [
        { key: "cpu", label: "CPU", unit: "ms", digits: 0 },
        { key: "wall", label: "answer", unit: "ms", digits: 0 },
      ],
      variants: [
        { name: BARE, measure: () => start(["bench/servers/bare.mjs"], alone, "bare") },
        ...names.map((name, at) => ({ name, measure: ours[at] as () => Promise<Sample> })),
      ],
      comparisons: [
        ...names.map((of) => ({ quantity: "cpu", of, against: BARE, atMost: 2.5 })),
        { quantity: "cpu", of: MCP_BESIDE, against: MCP, atMost: 1.3 },
        { quantity: "wall", of: MCP_BESIDE, against: MCP },
        { quantity: "cpu", of: ACP_BESIDE, against: ACP, atMost: 1.3 },
        { quantity: "wall", of: ACP_BESIDE, against: ACP },
      ],
      end: async () => {
        await gateway[Symbol.asyncDispose]();
        await home.remove();
      },
    };
  },
};

async function start(
  args: string[],
  env: Record<string, string>,
  what: "bare" | "list" | "acp",
): Promise<Sample> {
  const began = performance.now();
  await using program = new Program(args, { env });
  const load = new StdioLoad(program, { request: String, isRight: () => false });
  await load.open("initialize", what === "acp" ? ACP_INITIALIZE : INITIALIZE);
  if (what === "list") {
    const { tools = [] } = (await load.list()) as { tools?: object[] };
    if (tools.length === 0) throw new Error(`${args.join(" ")} listed no tools`);
  }
  const wall = performance.now() - began;
  const cpu = cpuTime(program.pid) / 1000;
  await program.finish();
  return { cpu, wall };
}
