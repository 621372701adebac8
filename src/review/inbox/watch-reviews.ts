import { REVIEWS_FILE } from "../../store/store-files.ts";
import { watchFolder } from "../../base/file/watch-folder.ts";

/**
 * Milliseconds after a change at which to look again. The system reports a write within a few
 * milliseconds, but the transaction can be read only when it is on disk, which nothing reports.
 * That may take long on a slow disk, and a comment must be seen within 50 ms of it.
 */
const LOOK_AGAIN = [5, 10, 15, 20, 30, 40, 55, 70, 90, 120, 160, 200, 300, 1_000];

/** Calls back when the store may have changed, by any process. */
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
