import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Bench } from "./harness/bench.ts";
import { cpuTimeWhenQuiet } from "./harness/cpu-time.ts";
import { Program, ROOT } from "./harness/program.ts";
import { residentSize } from "./harness/resident-size.ts";
import { StdioLoad } from "./harness/stdio-load.ts";

const TRUNKLINE = "dist/trunkline.js";

const BARE = "bare loop";
const MCP = "trunkline mcp";
const ACP = "trunkline acp";

/** From starting the program to its first answer, which is what an editor waits for. */
export const coldStart: Bench = {
  name: "cold-start",
  plan: async ({ quick }) => {
    const bare = () => startTwice(["bench/servers/bare.mjs"], MCP_PARAMS, undefined);
    const mcp = () => startTwice([TRUNKLINE, "mcp"], MCP_PARAMS, MCP_PARAMS.protocolVersion);
    const acp = () => startTwice([TRUNKLINE, "acp"], ACP_PARAMS, ACP_PARAMS.protocolVersion);
    const isBuilt = existsSync(join(ROOT, TRUNKLINE));
    // A program caches compiled code when it ends, at its first few starts.
    if (isBuilt) for (const warmUp of [mcp, mcp, mcp, acp, acp, acp]) await warmUp();
    const reason = `${TRUNKLINE} is missing; npm run build makes it`;
    return {
      describe: "node started, initialize answered, at rest; not for the first time, better of two",
      rounds: quick ? 7 : 31,
      quantities: [
        { key: "cpu", label: "CPU", unit: "ms", digits: 0 },
        { key: "wall", label: "first answer", unit: "ms", digits: 0 },
        { key: "rss", label: "RSS", unit: "MB", digits: 1 },
      ],
      variants: [
        { name: BARE, measure: bare },
        ...(isBuilt
          ? [
              { name: MCP, measure: mcp },
              { name: ACP, measure: acp },
            ]
          : []),
      ],
      skipped: isBuilt ? [] : [MCP, ACP].map((name) => ({ name, reason })),
      comparisons: [MCP, ACP].flatMap((of) => [
        { quantity: "cpu", of, against: BARE, atMost: 1.3 },
        { quantity: "rss", of, against: BARE, atMost: 1.3 },
        { quantity: "wall", of, against: BARE },
      ]),
    };
  },
};

const CLIENT = { name: "bench", version: "1.0.0" };
const MCP_PARAMS = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: CLIENT };
const ACP_PARAMS = { protocolVersion: 1, clientCapabilities: {}, clientInfo: CLIENT };

/** An environment without the settings of the person who runs the bench. */
const HOME = join(ROOT, ".cache/bench");
const ENVIRONMENT = {
  XDG_CACHE_HOME: join(HOME, "cache"),
  XDG_CONFIG_HOME: join(HOME, "config"),
  TRUNKLINE_DATA: join(HOME, "data"),
};

interface Start {
  readonly cpu: number;
  readonly wall: number;
  readonly rss: number;
  readonly [quantity: string]: number;
}

/** Other work on the machine can only make a start slower, so the best counts. */
async function startTwice(...how: Parameters<typeof start>): Promise<Start> {
  const [one, two] = [await start(...how), await start(...how)];
  return {
    cpu: Math.min(one.cpu, two.cpu),
    wall: Math.min(one.wall, two.wall),
    rss: Math.min(one.rss, two.rss),
  };
}

async function start(args: string[], params: unknown, agreed: unknown): Promise<Start> {
  const began = performance.now();
  await using program = new Program(args, { env: ENVIRONMENT });
  const load = new StdioLoad(program, { request: String, isRight: () => false });
  const result = await load.open("initialize", params);
  const wall = performance.now() - began;
  if ((result as { protocolVersion?: unknown }).protocolVersion !== agreed) {
    throw new Error(`${args.join(" ")} answered initialize with ${JSON.stringify(result)}`);
  }
  const cpu = (await cpuTimeWhenQuiet(program.pid)) / 1000;
  const rss = residentSize(program.pid) / 1024;
  await program.finish();
  return { cpu, wall, rss };
}
