import { BackgroundError, whatItBelongsTo } from "../background.ts";
import type { Log } from "../log.ts";

/** Milliseconds: npm sends Ctrl-C on to a program that has had it from the terminal already. */
const ECHO_MS = 1_000;

/**
 * Resolves with the first request to stop. A second one, later than an echo of the first, means
 * that stopping takes too long for the person who asked: the process ends at once.
 */
export function untilSignal(
  signals: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"],
): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let askedAt: number | undefined;
    const stop = (signal: NodeJS.Signals): void => {
      askedAt ??= performance.now();
      if (performance.now() - askedAt > ECHO_MS) process.exit(1);
      resolve(signal);
    };
    for (const signal of signals) process.on(signal, stop);
  });
}

/**
 * Keeps a process that serves others alive when a promise is rejected that nobody awaits: only the
 * work that it belongs to is lost, and the log names it.
 */
export function outliveRejections(log: Log): void {
  process.on("unhandledRejection", (error: unknown) => {
    const work = error instanceof BackgroundError ? { work: error.work } : {};
    const cause = error instanceof BackgroundError ? error.cause : error;
    log.error("process.rejection", { ...whatItBelongsTo(), ...work, error: cause });
  });
}
