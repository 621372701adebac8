import { SeededRandom } from "../../test/support/seeded-random.ts";

/** What was measured, of one update on its whole way (microseconds of CPU) and of one session (KB). */
export interface Costs {
  readonly worker: number;
  readonly gateway: number;
  readonly nats: number;
  readonly memory: number;
}

/** How people work, and on what machines. */
export const DAY = {
  /** Part of the sessions that have a turn at the busiest moment, on average. */
  busy: 0.1,
  /** Updates a second of a turn. */
  updatesEach: 20,
  eventBytes: 300,
  /** Of one machine. */
  cores: 4,
  /** Gigabytes of one machine. */
  machineMemory: 32,
  /** Part of the cores and the memory that may be used, so that the others take over what one machine leaves. */
  load: 0.5,
  /** Busy hours a day. */
  hours: 4,
  /** Megabytes of an agent while its turn runs. */
  agentMemory: 100,
} as const;

/** What a number of sessions needs. */
export interface Fleet {
  readonly turns: number;
  readonly updates: number;
  readonly gateways: number;
  readonly workers: number;
  readonly natsCores: number;
  /** Gigabytes, of gateways, workers and agents. */
  readonly memory: number;
  /** Gigabytes of events a day. */
  readonly disk: number;
}

const MINUTES = 60;

/**
 * Lets the sessions work for an hour, minute by minute, each with a turn or without one by chance, and
 * counts what the busiest minute needs. One worker and one gateway more than that may fail.
 */
export function simulate(sessions: number, costs: Costs, seed = 1): Fleet {
  const random = new SeededRandom(seed);
  let turns = 0;
  for (let minute = 0; minute < MINUTES; minute++) {
    let now = 0;
    for (let at = 0; at < sessions; at++) if (random.below(1_000) < DAY.busy * 1_000) now++;
    turns = Math.max(turns, now);
  }
  const updates = turns * DAY.updatesEach;
  const machines = (micros: number): number =>
    Math.ceil((updates * micros) / 1e6 / (DAY.cores * DAY.load)) + 1;
  const memory = (sessions * costs.memory) / 1e6 + (turns * DAY.agentMemory) / 1e3;
  return {
    turns,
    updates,
    gateways: machines(costs.gateway),
    // Agents need more memory than Trunkline, and mostly decide.
    workers: Math.max(
      machines(costs.worker),
      Math.ceil(memory / (DAY.machineMemory * DAY.load)) + 1,
    ),
    natsCores: (updates * costs.nats) / 1e6,
    memory,
    disk: (sessions * DAY.busy * DAY.updatesEach * DAY.eventBytes * DAY.hours * 3_600) / 1e9,
  };
}
