import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

import { AllChoices, RandomChoices } from "./choices.ts";
import type { Omission } from "./model-server.ts";
import { type Act, type Plan, World } from "./world.ts";

/** Runs of the model. */
export interface Exploration {
  readonly omission: Omission;
  readonly count: number;
  /** Runs by chance begin with this seed. */
  readonly seed?: number;
  /** A story of which all courses are tried, up to `count`. */
  readonly script?: readonly Act[];
}

export interface Explored {
  readonly runs: number;
  /** Events that were acknowledged in all runs. */
  readonly acknowledged: number;
  /** What went wrong first, and in which run. */
  readonly violation: string | undefined;
}

/** Decisions of which all are tried. */
const DEPTH = 16;

/**
 * Runs the model in a thread of its own. In the main thread the test runner watches each promise, which
 * takes a hundred times as long as the model itself.
 */
export async function explore(exploration: Exploration): Promise<Explored> {
  const thread = new Worker(new URL(import.meta.url), { workerData: exploration });
  const ended = once(thread, "exit");
  const [explored] = (await once(thread, "message")) as [Explored];
  await ended;
  return explored;
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  // Without `await`, since the test loads this module at once; a failure ends the thread.
  void run(workerData as Exploration).then((explored) => port.postMessage(explored));
}

async function run({ omission, count, seed = 0, script }: Exploration): Promise<Explored> {
  const all = new AllChoices(DEPTH);
  let acknowledged = 0;
  for (let runs = 1; ; runs++) {
    const choices = script === undefined ? new RandomChoices(seed + runs) : all;
    const plan = script === undefined ? planOf(seed + runs) : planWith(script);
    const world = new World(choices, plan, omission);
    const violation = await world.run();
    acknowledged += world.acknowledgements;
    if (violation !== undefined) {
      const where = script === undefined ? `seed ${seed + runs}` : `course ${runs}`;
      return { runs, acknowledged, violation: `${violation.message} (${where})` };
    }
    const isOver = runs >= count || (script !== undefined && !all.next());
    if (isOver) return { runs, acknowledged, violation: undefined };
  }
}

function planOf(seed: number): Plan {
  return { workers: 2 + (seed % 2), steps: 120, faults: seed % 4 !== 0, lives: seed % 3 === 0 };
}

function planWith(script: readonly Act[]): Plan {
  return { workers: 3, steps: 24, faults: false, lives: false, script };
}
