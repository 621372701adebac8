import { type LimitTable, limitsFor } from "../base/limit/limits.ts";
import { type Rate, RateLimiter } from "../base/limit/rate-limiter.ts";

/** Limits of all sessions, resolved once from the configuration. */
export interface SessionLimits {
  /** Milliseconds without progress after which a turn is given up. */
  readonly promptTimeout: number | undefined;
  /** Bytes of one `session/update`. */
  readonly updateSize: number;
  readonly updateRate: Rate | undefined;
  /** Limits of a method that is called at clients. */
  readonly ask: (method: string) => AskLimits;
  /** Milliseconds after which a cancelled turn ends, even if its agent has not answered. */
  readonly cancelGrace: number;
  /** Milliseconds without clients and turns after which a session is closed. */
  readonly idle: number;
}

export interface AskLimits {
  /** Bytes of the whole message. */
  readonly maxSize?: number | undefined;
  readonly timeout?: number | undefined;
  readonly retry: boolean;
  readonly rate?: RateLimiter | undefined;
}

const MINUTE = 60_000;

export function resolveSessionLimits(
  table: LimitTable = {},
  overrides: Partial<SessionLimits> = {},
): SessionLimits {
  const update = limitsFor("session/update", table);
  const asked = new Map<string, AskLimits>();
  return {
    promptTimeout: limitsFor("session/prompt", table).timeout,
    updateSize: update.maxSize ?? Infinity,
    updateRate: update.rate,
    ask: (method) => asked.getOrInsertComputed(method, () => askLimits(method, table)),
    cancelGrace: 5_000,
    idle: 30 * MINUTE,
    ...overrides,
  };
}

function askLimits(method: string, table: LimitTable): AskLimits {
  const { maxSize, timeout, retry = false, rate } = limitsFor(method, table);
  return { retry, maxSize, timeout, rate: rate && new RateLimiter(rate) };
}
