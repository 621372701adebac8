import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";

import { bytesInUse } from "./memory.ts";

// Loaded into the program under test with `--import`, see measured-program.ts. It writes down every
// time that the event loop did not come round because its own thread was at work. Time in which the
// machine did something else does not count. What does count is scaled by how fast the machine is at
// that moment, so that a busy one makes no difference.

/** Milliseconds between two looks. What is measured is too much by at most this. */
const EVERY = 5;
/** Milliseconds of work that are worth writing down. */
const WORTH = 20;

const SAMPLE = Buffer.alloc(512 * 1024, `{"some":["text",1.5,null]}`);
const ROUNDS = 8;
/** Milliseconds after which it is measured again how fast the machine can be. */
const AGAIN = 1_000;
const NEVER = new Int32Array(new SharedArrayBuffer(4));

const file = join(process.env["HOME"] ?? "", "probe.jsonl");

function write(found: object): void {
  appendFileSync(file, `${JSON.stringify({ pid: process.pid, ...found })}\n`);
}

/** Milliseconds of work of this thread so far. */
function worked(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** The same, exactly: Linux brings it up to date when a thread sleeps, and else every few ms. */
function workedExactly(): number {
  Atomics.wait(NEVER, 0, 0, 0.1);
  return worked();
}

/** Milliseconds that some fixed work takes now, of the kind that reading messages is. */
function sample(): number {
  const began = workedExactly();
  for (let round = 0; round < ROUNDS; round++) {
    const text = SAMPLE.toString();
    for (let at = 0; at >= 0; at = text.indexOf("null", at + 1));
  }
  return workedExactly() - began;
}

if (isMainThread) {
  let fastest = Math.min(...Array.from({ length: 8 }, sample));
  let last = worked();
  let sampledAt = performance.now();
  setInterval(() => {
    const cpu = worked() - last;
    if (cpu >= WORTH || performance.now() > sampledAt + AGAIN) {
      const now = sample();
      fastest = Math.min(fastest, now);
      sampledAt = performance.now();
      // Who shares a core with others takes longer for the same work.
      if (cpu >= WORTH)
        write({ cpu: (cpu * fastest) / now, raw: cpu, now, fastest, at: Date.now() });
    }
    last = worked();
  }, EVERY).unref();

  // Asked for by the test. The collection is its doing, so it is not measured.
  process.on("SIGUSR2", () => {
    const rss = process.memoryUsage.rss();
    write({ kept: bytesInUse(), rss });
    last = worked();
  });
}
