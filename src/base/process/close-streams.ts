import type { Readable } from "node:stream";

/**
 * Milliseconds to wait for the streams of a program after its exit: what it left running may keep
 * them open for ever.
 */
const GRACE = 200;
/** How often streams are looked at again in which something still was. */
const MOST_LOOKS = 100;

/**
 * Closes the streams of a program that has exited, unless they end by themselves. What the program
 * has written is read before, also by a process so busy that its timers run late and ahead of its
 * reading. Returns a function that calls it off.
 */
export function closeStreams(...streams: readonly (Readable | null)[]): () => void {
  let isRead = false;
  let looks = 0;
  let immediate: NodeJS.Immediate | undefined;
  const note = (): void => {
    isRead = true;
  };
  for (const stream of streams) stream?.on("data", note);
  const look = (): void => {
    isRead = false;
    // The event loop reads between a timer and this.
    immediate = setImmediate(() => {
      if (isRead && ++looks < MOST_LOOKS) look();
      else for (const stream of streams) stream?.destroy();
    });
  };
  const timer = setTimeout(look, GRACE);
  return () => {
    clearTimeout(timer);
    clearImmediate(immediate);
  };
}
