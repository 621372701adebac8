import { runProgram } from "../src/git/run-program.ts";
import type { Bench, Sample } from "./harness/bench.ts";

const NODE = "started by Node";
const SHELL = "started by a shell";
/** Megabytes of a gateway with some sessions, beyond what a bare Node takes. */
const SIZE = 100;

/** What it takes a gateway to run git, which it does by a small shell (src/git/program-shell.ts). */
export const programStart: Bench = {
  name: "program-start",
  plan: async ({ quick }) => {
    const memory = Array.from({ length: SIZE }, () => Buffer.alloc(1 << 20, 1));
    const times = quick ? 5 : 20;
    const measure = async (isAlone: boolean): Promise<Sample> => {
      const cpu = process.cpuUsage();
      const began = performance.now();
      for (let time = 0; time < times; time++) await runGit(isAlone);
      const { user, system } = process.cpuUsage(cpu);
      const wall = (performance.now() - began) / times;
      return { wall, cpu: (user + system) / 1_000 / times };
    };
    for (let time = 0; time < times; time++) await runGit(true);
    return {
      describe: `git version, from a process that has ${memory.length} MB more than a bare Node; mean of ${times}`,
      rounds: quick ? 7 : 31,
      quantities: [
        { key: "wall", label: "time", unit: "ms", digits: 2 },
        { key: "cpu", label: "CPU of the process that asks", unit: "ms", digits: 2 },
      ],
      variants: [
        { name: NODE, measure: () => measure(false) },
        { name: SHELL, measure: () => measure(true) },
      ],
      comparisons: [
        { quantity: "wall", of: SHELL, against: NODE },
        { quantity: "cpu", of: SHELL, against: NODE },
      ],
    };
  },
};

async function runGit(isAlone: boolean): Promise<void> {
  const env = { PATH: process.env.PATH };
  const limits = { timeout: 60_000, maxOutput: 1_000 };
  await runProgram({ command: "git", args: ["version"], env, isAlone, ...limits });
}
