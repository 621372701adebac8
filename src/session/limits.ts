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
  /** Queued updates of one client, above which it is sent the later ones from the log. */
  readonly backlog: { readonly updates: number; readonly characters: number };
  /** Milliseconds after which a cancelled turn ends, even if its agent has not answered. */
  readonly cancelGrace: number;
  /** Milliseconds without clients and turns after which a session is closed. */
  readonly idle: number;
}

export interface AskLimits {
  /** Bytes of the whole message. */
  readonly maxSize?: number;
  readonly timeout?: number;
  readonly retry: boolean;
  readonly rate?: RateLimiter;
}

const NO_SIZE = Number.MAX_SAFE_INTEGER;
const MINUTE = 60_000;

export function resolveSessionLimits(
  table: LimitTable = {},
  overrides: Partial<SessionLimits> = {},
): SessionLimits {
  const update = limitsFor("session/update", table);
  const asked = new Map<string, AskLimits>();
  return {
    promptTimeout: limitsFor("session/prompt", table).timeout,
    updateSize: update.maxSize ?? NO_SIZE,
    updateRate: update.rate,
    ask: (method) => {
      return asked.getOrInsertComputed(method, () => askLimits(method, table));
    },
    backlog: { updates: 1_000, characters: 4 * 1024 * 1024 },
    cancelGrace: 5_000,
    idle: 30 * MINUTE,
    ...overrides,
  };
}

function askLimits(method: string, table: LimitTable): AskLimits {
  const { maxSize, timeout, retry = false, rate } = limitsFor(method, table);
  return {
    retry,
    ...(maxSize === undefined ? {} : { maxSize }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(rate === undefined ? {} : { rate: new RateLimiter(rate) }),
  };
}
