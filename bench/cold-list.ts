import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { INITIALIZE } from "./echo-call.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { Program } from "./harness/program.ts";
import { StdioLoad } from "./harness/stdio-load.ts";

const BARE = "bare loop";
const NONE = "trunkline mcp, no servers";
const TEN = "trunkline mcp, ten servers";

/** From starting the program to its list of tools. The servers are configured, but not started. */
export const coldList: Bench = {
  name: "cold-list",
  plan: async ({ quick }) => {
    const home = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
    process.on("exit", () => void home.remove());
    const servers = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`s${i}`, UPSTREAM]));
    const environment = (name: string) => ({
      XDG_CACHE_HOME: join(home.path, name, "cache"),
      XDG_CONFIG_HOME: join(home.path, name, "config"),
      TRUNKLINE_DATA: join(home.path, name, "data"),
    });
    const env = environment("none");
    const envOfTen = environment("ten");
    const folder = join(envOfTen.XDG_CONFIG_HOME, "trunkline");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "config.jsonc"), JSON.stringify({ mcpServers: servers }));
    const none = () => start(["dist/trunkline.js", "mcp"], env, 0);
    const ten = () => start(["dist/trunkline.js", "mcp"], envOfTen, 10);
    // The first start asks the servers; later ones use the cached offer and compiled code.
    for (let warmUp = 0; warmUp < 7; warmUp++) for (const each of [ten, none]) await each();
    return {
      describe: "node started, initialize and tools/list answered; not for the first time",
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
        { quantity: "cpu", of: NONE, against: BARE, atMost: 2.5 },
        { quantity: "cpu", of: TEN, against: NONE, atMost: 1.05 },
      ],
    };
  },
};

const UPSTREAM = {
  command: process.execPath,
  args: [join(import.meta.dirname, "servers/mcp-upstream.mjs")],
};

/** Each server offers one tool, beside Trunkline's own. The bare loop has no list. */
async function start(
  args: string[],
  env: Record<string, string>,
  servers: number | undefined,
): Promise<Sample> {
  const began = performance.now();
  await using program = new Program(args, { env });
  const load = new StdioLoad(program, { request: String, isRight: () => false });
  await load.open("initialize", INITIALIZE);
  const { tools } = (await load.list()) as { tools?: { readonly name: string }[] };
  const wall = performance.now() - began;
  const cpu = cpuTime(program.pid) / 1000;
  const [own, theirs] = [false, true].map(
    (isTheirs) => tools?.filter(({ name }) => name.endsWith("echo") === isTheirs).length,
  );
  if (theirs !== servers || own === 0) {
    const what = `${JSON.stringify(tools)}, not its own tools and those of ${servers} servers`;
    throw new Error(`${args.join(" ")} listed ${what}`);
  }
  await program.finish();
  return { cpu, wall };
}
