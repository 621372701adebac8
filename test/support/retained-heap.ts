import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;

const CALLS = 40_000;
/** How many calls are open at any time. */
export const AT_ONCE = 64;
/** Of each call, as if it held a message. */
const WORDS = 100;

export interface Retained {
  /** Bytes of the heap that the calls left behind. */
  readonly bytes: number;
  /** A quarter of what all of them took: where all are gone, much less is left. */
  readonly limit: number;
}

/**
 * Begins and ends many calls, some of them at a time, and says what is left of them when only the young
 * heap was collected, as in a busy program. `words` are for the call to hold.
 */
export function retainedBy<T>(
  begin: (words: readonly number[], id: number) => T,
  end: (call: T) => void,
): Retained {
  const beginCall = (id: number): T =>
    begin(
      Array.from({ length: WORDS }, () => id),
      id,
    );
  const open = Array.from({ length: AT_ONCE }, (_, id) => beginCall(id));
  // The first are in the old heap now, as in a program that has run for a while.
  collect();
  collect();
  const before = getHeapStatistics().used_heap_size;
  for (let id = AT_ONCE; id < CALLS; id++) {
    open.push(beginCall(id));
    end(open.shift() as T);
    if (id % 1_000 === 0) collect({ type: "minor" });
  }
  collect({ type: "minor" });
  collect({ type: "minor" });
  const bytes = getHeapStatistics().used_heap_size - before;
  return { bytes, limit: (CALLS * WORDS * 8) / 4 };
}
