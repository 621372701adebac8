import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench, Sample } from "./harness/bench.ts";
import { proportionalSizeOfTrees } from "./harness/process-tree.ts";
import { Program } from "./harness/program.ts";

const BARE = "bare Node";
const SERVE = "trunkline serve";
/** Seconds from the start to the measurement. */
const IDLE = 60;
/** The same of the start before, after which compiled code is cached. */
const WARM_UP = 7;

/** The memory of a gateway without servers and clients, with its children. */
export const idleMemory: Bench = {
  name: "idle-memory",
  plan: async ({ quick }) => {
    const home = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
    // Memory is divided among the processes that share it. Nobody else runs a copy of Node's binary.
    const copy = (name: string): string => {
      const path = join(home.path, name);
      copyFileSync(process.execPath, path);
      return path;
    };
    const nodes = { bare: copy("node-bare"), serve: copy("node-serve") };
    await serve(nodes.serve, home.path, WARM_UP);
    return {
      describe: `proportional set size of all processes, ${IDLE} s after the start`,
      rounds: quick ? 1 : 3,
      quantities: [{ key: "size", label: "memory", unit: "MB", digits: 1 }],
      variants: [
        { name: BARE, measure: () => bare(nodes.bare) },
        { name: SERVE, measure: () => serve(nodes.serve, home.path, IDLE) },
      ],
      comparisons: [
        {
          row: "idle `serve` without servers, memory after a minute",
          ...{ quantity: "size", of: SERVE, against: BARE, atMost: 1.8 },
        },
      ],
      end: () => home.remove(),
    };
  },
};

async function bare(node: string): Promise<Sample> {
  const script = "process.stdin.resume(); fs.writeSync(1, 'up')";
  await using program = new Program(["--eval", script], { node });
  await program.until(once(program.stdout, "data"));
  await program.until(sleep(1_000));
  return sizeOf(program);
}

async function serve(node: string, home: string, seconds: number): Promise<Sample> {
  const env = {
    HOME: home,
    XDG_CACHE_HOME: join(home, "cache"),
    TRUNKLINE_DATA: join(home, "data"),
  };
  await using program = new Program(["dist/trunkline.js", "serve", "--port", "0"], { env, node });
  await program.until(sleep(seconds * 1_000));
  return sizeOf(program);
}

function sizeOf({ pid }: Program): Sample {
  return { size: proportionalSizeOfTrees([pid]) / 1024 };
}
