import { RateLimiter } from "../base/limit/rate-limiter.ts";

type Report = (event: string, fields: Record<string, unknown>) => void;

/** Reports of one kind that are passed on in a stretch of time. */
const RATE = { limit: 20, windowMs: 10_000 };

/**
 * Reports what others do wrong, so much of it that a person can read it: who does it ten thousand
 * times must not fill the log. How many were left out is said with the next one.
 */
export function boundedReport(report: Report, now?: () => number): Report {
  const passes = new RateLimiter(RATE, now);
  const leftOut = new Map<string, number>();
  return (event, fields) => {
    // What one does is no reason to be silent about another.
    const who = fields.peer ?? fields.owner;
    const key = typeof who === "string" ? `${event} ${who}` : event;
    const before = leftOut.get(key) ?? 0;
    if (passes.take(key) > 0) {
      leftOut.set(key, before + 1);
      return;
    }
    leftOut.delete(key);
    report(event, before === 0 ? fields : { ...fields, leftOut: before });
  };
}
