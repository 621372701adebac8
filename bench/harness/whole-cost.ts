import { execFileSync } from "node:child_process";
import { dlopen } from "node:ffi";

import { addressOf, fixedBuffer } from "../../src/base/process/ffi.ts";

/** Linux: linux/prctl.h. */
const PR_SET_CHILD_SUBREAPER = 36;
const RUSAGE_CHILDREN = -1;
/** The size of struct rusage, and a number that is larger than any. */
const RUSAGE = 256;
const MOST = 10_000;

const native = dlopen(null, {
  prctl: { arguments: ["i32", "u64", "u64", "u64", "u64"], return: "i32" },
  getrusage: { arguments: ["i32", "pointer"], return: "i32" },
  waitpid: { arguments: ["i32", "pointer", "i32"], return: "i32" },
}).functions;

/** Milliseconds by the clock, and of processor time. */
export interface Cost {
  readonly clock: number;
  readonly cpu: number;
  readonly [key: string]: number;
}

/** What commands cost that end meanwhile. */
export function costOf(work: () => void): Cost {
  const before = childrenTime();
  const begun = performance.now();
  work();
  const clock = performance.now() - begun;
  return { clock, cpu: childrenTime() - before };
}

/** What a command costs with all that it starts, also what outlives it for a moment. Nothing else may run. */
export function wholeCost(
  command: string,
  args: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv },
): Cost {
  // What loses its parent becomes our child, and is counted when we wait for it.
  native.prctl(PR_SET_CHILD_SUBREAPER, 1n, 0n, 0n, 0n);
  const before = childrenTime();
  const { clock } = costOf(() => {
    execFileSync(command, args, { stdio: ["ignore", "ignore", "inherit"], ...options });
  });
  const status = fixedBuffer(8);
  for (let n = 0; n < MOST && native.waitpid(-1, addressOf(status), 0) > 0; n++);
  return { clock, cpu: childrenTime() - before };
}

function childrenTime(): number {
  const usage = fixedBuffer(RUSAGE);
  native.getrusage(RUSAGE_CHILDREN, addressOf(usage));
  const seconds = (at: number): number => {
    return Number(usage.readBigInt64LE(at)) * 1000 + Number(usage.readBigInt64LE(at + 8)) / 1000;
  };
  return seconds(0) + seconds(16);
}
