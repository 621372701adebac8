import type { ReviewCommands } from "../review-commands.ts";
import { watchReviews } from "./watch-reviews.ts";

/** One event of a thread, as it is reported while watching. */
export interface Happening {
  readonly thread: string;
  readonly file: string;
  readonly kind: string;
  readonly by: string;
  readonly at: string;
  readonly text?: string;
}

/** Reports events of threads from now on, until the signal. */
export async function followReviews(
  commands: ReviewCommands,
  tell: (happening: Happening) => void,
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
      for (const { seq, thread, path, ...event } of await commands.reviews.eventsAfter(
        seen,
        gitDir,
      )) {
        seen = seq;
        const { kind, by, at, text } = event;
        const said = text === undefined ? {} : { text };
        tell({ thread, file: path, kind, by, at: new Date(at).toISOString(), ...said });
      }
    }
    isLooking = false;
  };
  const stop = watchReviews(commands.data, () => {
    look().catch(over.reject);
  });
  // Watches do not keep the process alive; this does.
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
