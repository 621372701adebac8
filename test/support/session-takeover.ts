import assert from "node:assert/strict";

/** A session that was taken over when the process that held it was killed. */
export interface SessionTakeover {
  /** Milliseconds from the kill until a request about the session is answered again. */
  readonly milliseconds: number;
  /** What the next process took to start and to join the session: how fast the machine is just then. */
  readonly joining: number;
}

/** Milliseconds within which somebody must have the session again. */
const WITHIN = 2_000;
/** On a busy machine: so many times what a process takes to start and to join. */
const JOININGS = 3;

/** Fails if a takeover took long, unless everything takes long on this machine at that time. */
export function expectQuick(takeovers: readonly SessionTakeover[], seed: number): void {
  const slow = takeovers.filter(({ milliseconds, joining }) => {
    return milliseconds > Math.max(WITHIN, JOININGS * joining);
  });
  assert.deepEqual(slow, [], `seed ${seed}`);
}

/** In words. */
export function sayTakeovers(takeovers: readonly SessionTakeover[]): string {
  const times = (of: keyof SessionTakeover): string => {
    const all = takeovers.map((each) => Math.round(each[of])).toSorted((a, b) => a - b);
    return `p50 ${all[all.length >> 1]} ms, max ${all.at(-1)} ms`;
  };
  const joining = `to join takes ${times("joining")}`;
  return `${takeovers.length} takeovers: ${times("milliseconds")}; ${joining}`;
}
