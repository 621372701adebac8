import { REVIEWS_FILE } from "../../store/store-files.ts";
import { watchFolder } from "../../base/file/watch-folder.ts";
import { defined } from "../../base/defined.ts";
import type { ThreadEvent } from "../../store/review/review-thread.ts";
import type { ReviewCommands } from "../review-commands.ts";

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

/** One event of a thread, as it is reported while watching. */
export interface ReviewEvent extends Pick<ThreadEvent, "kind" | "by" | "text"> {
  readonly thread: string;
  readonly file: string;
  readonly at: string;
}

/** Reports events of threads from now on, until the signal. */
export async function followReviews(
  commands: ReviewCommands,
  tell: (happening: ReviewEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const gitDir = commands.repository?.gitDir;
  let seen = await commands.reviews.lastSeq();
  let isLooking = false;
  let isStale = false;
  const over = Promise.withResolvers<void>();
  const look = async (): Promise<void> => {
    isStale = true;
    if (isLooking) return;
    isLooking = true;
    while (isStale) {
      isStale = false;
      for (const event of await commands.reviews.eventsAfter(seen, gitDir)) {
        const { thread, path: file, kind, by, at, text } = event;
        seen = event.seq;
        tell({ thread, file, kind, by, at: new Date(at).toISOString(), ...defined({ text }) });
      }
    }
    isLooking = false;
  };
  const stop = watchReviews(commands.data, () => {
    look().catch(over.reject);
  });
  // Keeps the process alive, since watches do not.
  const alive = setInterval(() => {}, 60_000);
  // Report events that came before the watch started.
  look().catch(over.reject);
  signal.addEventListener("abort", () => over.resolve(), { once: true });
  try {
    await over.promise;
  } finally {
    stop();
    clearInterval(alive);
  }
}
