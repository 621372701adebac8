import { REVIEWS_FILE } from "../../store/store-files.ts";
import { watchFolder } from "./watch-folder.ts";

/**
 * Milliseconds after which it is looked again. The system tells that a transaction is being written,
 * in a few milliseconds; it can be read when the disk has it, of which nobody tells. A slow disk may
 * take long, and what it has is to be told within 50.
 */
const LOOK_AGAIN = [5, 10, 15, 20, 30, 40, 55, 70, 90, 120, 160, 200, 300, 1_000];

/** Calls back when the store may have changed, whoever wrote it. */
export function watchReviews(data: string, changed: () => void): () => void {
  let timers: NodeJS.Timeout[] = [];
  const cancel = (): void => timers.forEach((timer) => clearTimeout(timer));
  const stop = watchFolder(data, (name) => {
    if (name !== undefined && !name.startsWith(REVIEWS_FILE)) return;
    cancel();
    timers = LOOK_AGAIN.map((after) => setTimeout(changed, after).unref());
    changed();
  });
  return () => {
    stop();
    cancel();
  };
}
