import { setTimeout as delay } from "node:timers/promises";

/** Milliseconds after which a test does not wait any longer: far more than a busy machine needs. */
const PATIENCE = 300_000;
/** Milliseconds between two looks, at most. The first ones come sooner: most things are so at once. */
const LONGEST_PAUSE = 25;

/** Waits until something is so. A test says what it waits for in the condition, which an error quotes. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const giveUp = performance.now() + PATIENCE;
  for (let pause = 1; !(await isSo()); pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    if (performance.now() > giveUp) throw new Error(`Waited in vain until ${String(isSo)}`);
    await delay(pause);
  }
}
