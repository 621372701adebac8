import { background } from "../background.ts";

/** Memory is given back from this many bytes above the lowest use so far. */
const WORTH = 32 * 1024 * 1024;
/** Milliseconds after the end of a connection, and the most if the last time freed little. */
const SOONEST = 2_000;
const LATEST = 15_000;

export interface MemoryReturnOptions {
  readonly taken: () => number;
  readonly giveBack: () => Promise<void>;
}

/**
 * Gives back the memory of connections that have ended. By itself V8 collects what they held only when
 * something else is allocated, and the C library keeps what was freed between blocks that are in use.
 */
export class MemoryReturn {
  readonly #options: MemoryReturnOptions;
  #least: number;
  #wait = SOONEST;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MemoryReturnOptions) {
    this.#options = options;
    this.#least = options.taken();
  }

  /** A connection has ended: what it held may be given back soon. */
  connectionEnded(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => background(this.#lookNow(), "Giving memory back"), this.#wait);
    this.#timer.unref();
  }

  async #lookNow(): Promise<void> {
    try {
      await this.#look();
    } finally {
      this.#timer = undefined;
    }
  }

  async #look(): Promise<void> {
    const { taken, giveBack } = this.#options;
    const before = taken();
    if (before - this.#least < WORTH) {
      this.#least = Math.min(this.#least, before);
      return;
    }
    await giveBack();
    const after = taken();
    this.#least = Math.min(this.#least, after);
    this.#wait = before - after < WORTH ? Math.min(2 * this.#wait, LATEST) : SOONEST;
  }
}

let ofProcess: MemoryReturn | undefined;

/** The one of this process. */
export function memoryReturn(): MemoryReturn {
  const taken = (): number => process.memoryUsage.rss();
  return (ofProcess ??= new MemoryReturn({ taken, giveBack: giveBackMemory }));
}

const TRIM = `const { dlopen } = require("node:ffi");
dlopen(null, { malloc_trim: { arguments: ["u64"], return: "i32" } }).functions.malloc_trim(0n);`;

/** Has V8 collect all garbage, and the C library give free memory back to the system. */
export async function giveBackMemory(): Promise<void> {
  const [{ setFlagsFromString }, { runInNewContext }, { Worker }] = await Promise.all([
    import("node:v8"),
    import("node:vm"),
    import("node:worker_threads"),
  ]);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (how: object) => Promise<void>;
  await collect({ type: "major", execution: "async" });
  // In a thread, since only that can be started with Node's FFI. It is for the whole process.
  const thread = new Worker(TRIM, {
    eval: true,
    env: {},
    execArgv: ["--experimental-ffi", "--no-warnings"],
  });
  await new Promise<void>((resolve) => {
    // Not every C library has it.
    thread.on("error", () => {});
    thread.on("exit", () => resolve());
  });
}
