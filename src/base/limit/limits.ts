import type { Rate } from "./rate-limiter.ts";

/** What one kind of message may cost. A field that is left out has no limit of its own. */
export interface MessageLimits {
  /** Bytes of the whole message. */
  readonly maxSize?: number;
  /** Calls in a window, counted for each session apart. */
  readonly rate?: Rate;
  /** Milliseconds without progress. */
  readonly timeout?: number;
  /** Whether a caller may try again after a timeout. */
  readonly retry?: boolean;
}

/** Limits by method name; `fs/*` stands for every method that begins with `fs/`. */
export type LimitTable = Readonly<Record<string, MessageLimits>>;

const KB = 1024;
const MB = 1024 * KB;
const second = 1000;
const perMinute = (limit: number): Rate => ({ limit, windowMs: 60 * second });

/**
 * What can be set under `limits` in the configuration, with its default. What each bounds, and what
 * happens beyond it, is told in `limit-table.ts`, which a start does not load.
 */
export const DEFAULT_LIMITS = {
  maxMessage: 10 * MB,
  highWater: 4 * MB,
  maxUnsent: 64 * MB,
  maxBuffered: 64 * MB,
  closeGrace: 1 * second,
  maxInFlight: 4_096,
  maxDepth: 256,
  maxWork: 480_000,
} as const;

/** Bytes of a question to a person, who has to see all of what is allowed. */
export const LARGEST_QUESTION = 1 * MB;

/** ACP message specification, "Performance Considerations": its three tables in one; and ours. */
export const MESSAGE_LIMITS: LimitTable = {
  initialize: { maxSize: 10 * KB, timeout: 30 * second, retry: false },
  "session/new": { maxSize: 50 * KB, timeout: 60 * second, retry: false },
  "session/prompt": { maxSize: 1 * MB, rate: perMinute(10), timeout: 300 * second, retry: false },
  "session/update": { maxSize: 100 * KB, rate: perMinute(1000) },
  "session/request_permission": { maxSize: LARGEST_QUESTION },
  "fs/*": { maxSize: 10 * MB },
  "fs/read_text_file": { rate: perMinute(100), timeout: 30 * second, retry: true },
  "fs/write_text_file": { rate: perMinute(50), timeout: 60 * second, retry: true },
  // Same document, "Error Handling": error responses are limited in their rate. No method has this name.
  error: { rate: { limit: 100, windowMs: second } },
};

/**
 * The limits of one method: each field from the most exact name that sets it, `overrides` (the
 * user's configuration) before the document's table.
 */
export function limitsFor(method: string, overrides: LimitTable = {}): MessageLimits {
  const names = [...prefixesOf(method), method];
  let limits: MessageLimits = {};
  for (const table of [MESSAGE_LIMITS, overrides]) {
    for (const name of names) {
      if (Object.hasOwn(table, name)) limits = { ...limits, ...table[name] };
    }
  }
  return limits;
}

/** `a/b/c` → `a/*`, `a/b/*`. */
function prefixesOf(method: string): string[] {
  const parts = method.split("/");
  return parts.slice(1).map((_, index) => `${parts.slice(0, index + 1).join("/")}/*`);
}
