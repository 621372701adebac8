import { BackgroundError, whatItBelongsTo } from "../base/background.ts";
import type { Log } from "../base/log.ts";

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
