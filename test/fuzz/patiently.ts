import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds that anything may take on a machine that is busy. */
const PATIENCE = 120_000;

/** Waits for something, and fails with what it was where it does not come. */
export async function patiently<T>(what: () => string, promise: Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = sleep(PATIENCE, undefined, { signal: over.signal }).then(
    () => {
      throw new Error(`Waited ${PATIENCE} ms for ${what()}`);
    },
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    over.abort();
  }
}
