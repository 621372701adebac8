import { type LimitTable, limitsFor } from "../base/limit/limits.ts";
import { type Rate, RateLimiter } from "../base/limit/rate-limiter.ts";

/** What sessions may cost, for all of a house. */
export interface SessionLimits {
  /** Milliseconds that a turn may show no progress. */
  readonly promptTimeout: number | undefined;
  /** Bytes of one `session/update`. */
  readonly updateSize: number;
  readonly updateRate: Rate | undefined;
  /** Of each method that is asked of clients. */
  readonly ask: (method: string) => AskLimits;
  /** What one client may be behind, before it is told to resume. */
  readonly backlog: { readonly updates: number; readonly characters: number };
  /** Milliseconds after which a cancelled turn is over, whatever its agent does. */
  readonly cancelGrace: number;
  /** Milliseconds after which a session that nobody looks at is put away. */
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
      const known = asked.get(method) ?? askLimits(method, table);
      asked.set(method, known);
      return known;
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
