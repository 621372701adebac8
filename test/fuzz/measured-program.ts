import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Program, type ProgramOptions } from "../support/program.ts";

const PROBE = join(import.meta.dirname, "stall-probe.ts");
const MiB = 1024 * 1024;

/** Milliseconds of its own work that may keep the program from its other connections. */
const LONGEST_STALL = 50;
/** What the probe may measure too much, see there. */
const PROBE_ERROR = 5;
/** With more to run than cores, they share caches and execution units: the same work takes longer. */
const BUSY = 2;

/** Options of Node that have the program measured. */
export const MEASURED: readonly string[] = [`--import=${PROBE}`];

interface Memory {
  /** Bytes that are in use after a collection. */
  readonly kept: number;
  /** Bytes that the system has given it. */
  readonly rss: number;
}

interface Stall {
  readonly cpu: number;
  readonly at: number;
}

/** Watches how long the program holds its event loop, and how much memory it takes. */
export class Measuring {
  readonly #program: Program;
  readonly #before: Memory;
  readonly #since: number;

  private constructor(program: Program, before: Memory) {
    this.#program = program;
    this.#before = before;
    this.#since = Date.now();
  }

  /** From now on: what a program does once, when it starts, is not meant. */
  static async begin(program: Program): Promise<Measuring> {
    return new Measuring(program, await memoryOf(program));
  }

  /** Fails where it has stalled. Returns the worst, in milliseconds. */
  expectNoStall(during = "It"): number {
    const stalls = found<Stall>(this.#program, "cpu").filter(({ at }) => at > this.#since);
    const worst = Math.max(0, ...stalls.map(({ cpu }) => cpu));
    const after = stalls.map(({ cpu, at }) => `${cpu.toFixed(1)} ms after ${at - this.#since} ms`);
    const isBusy = (loadavg()[0] ?? 0) > availableParallelism();
    const longest = LONGEST_STALL * (isBusy ? BUSY : 1) + PROBE_ERROR;
    assert.ok(worst <= longest, `${during} stalled: ${after.join(", ")}`);
    return worst;
  }

  /** Fails where it has grown by more than so many MiB since the beginning. Returns by how much. */
  async expectBounded(limits: Memory): Promise<Memory> {
    const now = await memoryOf(this.#program);
    const kept = (now.kept - this.#before.kept) / MiB;
    const rss = (now.rss - this.#before.rss) / MiB;
    assert.ok(kept <= limits.kept, `It keeps ${kept} MiB more than it did`);
    assert.ok(rss <= limits.rss, `It takes ${rss} MiB more than it did`);
    return { kept, rss };
  }
}

export function measuredProgram(args: readonly string[], options: ProgramOptions = {}): Program {
  return new Program(args, {
    ...options,
    nodeArgs: MEASURED,
  });
}

/** Does something with a program, which is killed if it fails: why it failed is what counts then. */
export async function withProgram<T>(program: Program, work: () => Promise<T>): Promise<T> {
  await using _ = program;
  try {
    return await work();
  } catch (error) {
    program.child.kill("SIGKILL");
    await program.exit;
    throw error;
  }
}

async function memoryOf(program: Program): Promise<Memory> {
  const before = found<Memory>(program, "kept").length;
  program.child.kill("SIGUSR2");
  const giveUp = performance.now() + 60_000;
  for (;;) {
    const all = found<Memory>(program, "kept");
    if (all.length > before) return all.at(-1)!;
    assert.ok(performance.now() < giveUp, `It does not come round. stderr: ${program.stderr}`);
    await sleep(10);
  }
}

/** What its probe has written down of one kind. Its children have probes too. */
function found<T>(program: Program, kind: string): T[] {
  const file = join(program.home, "probe.jsonl");
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as T & { pid: number })
    .filter((each) => each.pid === program.child.pid && Object.hasOwn(each, kind));
}
