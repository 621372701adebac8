import type { Posted } from "./post.ts";

/** What an attempt to send came to. "retry" is attempted again later. */
export interface Sent {
  readonly state: "delivered" | "failed" | "retry";
  /** In words, for people. */
  readonly result: string;
  /** Milliseconds that the receiver asks to wait. */
  readonly after?: number | undefined;
}

/** Statuses of a server that may accept the same request later: RFC 9110, section 15. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429]);

/** What the status of an answer means. */
export function sentBy({ status, retryAfter }: Posted): Sent {
  if (status >= 200 && status < 300) {
    return { state: "delivered", result: `accepted with status ${status}` };
  }
  const isLater = status >= 500 || LATER.has(status);
  if (isLater) return { state: "retry", result: `status ${status}`, after: retryAfter };
  const why = status >= 300 && status < 400 ? ": redirects are not followed" : "";
  return { state: "failed", result: `refused with status ${status}${why}` };
}
