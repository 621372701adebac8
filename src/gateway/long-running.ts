import { BackgroundError, whatItBelongsTo } from "../base/background.ts";
import type { Log } from "../base/log.ts";

/** npm passes a terminal's Ctrl-C on to a program that has it already. */
const ECHO_MS = 1_000;

/**
 * Resolves with the first request to stop. A second one, later than an echo of the first, means
 * that stopping takes too long for the person who asked: the process ends at once.
 */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let askedAt: number | undefined;
    const stop = (signal: NodeJS.Signals): void => {
      askedAt ??= performance.now();
      if (performance.now() - askedAt > ECHO_MS) process.exit(1);
      resolve(signal);
    };
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
    process.on("SIGHUP", stop);
  });
}

/**
 * Has a process that serves others live on when something fails that nobody waited for: it costs
 * what it belongs to, and not what everybody else is doing. That is told in the log.
 */
export function outliveRejections(log: Log): void {
  process.on("unhandledRejection", (error: unknown) => {
    const work = error instanceof BackgroundError ? { work: error.work } : {};
    const cause = error instanceof BackgroundError ? error.cause : error;
    log.error("process.rejection", { ...whatItBelongsTo(), ...work, error: cause });
  });
}
