import { onAbort } from "../base/abort.ts";
import { TrunklineError } from "../base/errors.ts";
import type { Thread } from "../store/review/review-thread.ts";
import type { ToolContext } from "../tool/tool.ts";
import { watchReviews } from "./inbox/watch-reviews.ts";

/** Milliseconds between progress notifications: clients give up on a silent call. */
const SIGN_OF_LIFE = 10_000;

export interface WaitOptions {
  /** Where the store is. */
  readonly data: string;
  readonly seconds: number;
  readonly context: Pick<ToolContext, "progress" | "signal">;
  /** Claims what is available. */
  readonly claim: () => Promise<Thread[]>;
  /** Releases threads if the caller stopped waiting. */
  readonly giveBack: (threads: readonly Thread[]) => Promise<unknown>;
  /** Renews existing claims. */
  readonly keep: () => Promise<void>;
}

/** Waits for a thread to claim, for a limited time. */
export async function waitForThreads(options: WaitOptions): Promise<Thread[]> {
  const { data, seconds, context, claim, giveBack, keep } = options;
  const began = Date.now();
  const over = Promise.withResolvers<void>();
  let threads: Thread[] = [];
  let looking: Promise<void> | undefined;
  let isStale = false;
  const look = async (): Promise<void> => {
    while (isStale && threads.length === 0) {
      isStale = false;
      threads = await claim();
    }
    looking = undefined;
    if (threads.length > 0) over.resolve();
  };
  const lookAgain = (): void => {
    isStale = true;
    looking ??= look().catch(over.reject);
  };
  const stopWatching = watchReviews(data, lookAgain);
  // A claim that expires changes nothing on disk, so look again with each progress notification.
  const alive = setInterval(() => {
    const done = Math.round((Date.now() - began) / 1000);
    context.progress(done, seconds, "Waiting for review comments");
    keep().then(lookAgain, over.reject);
  }, SIGN_OF_LIFE);
  const timer = setTimeout(over.resolve, seconds * 1000);
  const stopListening = onAbort(context.signal, () => {
    over.reject(new TrunklineError("cancelled", "The caller stopped waiting."));
  });
  try {
    lookAgain();
    await over.promise;
    await looking;
    return threads;
  } catch (error) {
    await looking;
    await giveBack(threads);
    throw error;
  } finally {
    stopListening();
    clearInterval(alive);
    clearTimeout(timer);
    stopWatching();
  }
}
