import type { PostResult } from "../../../base/post.ts";

/** The result of an attempt to send. "retry" is attempted again later. */
export interface SendResult {
  readonly state: "delivered" | "failed" | "retry";
  /** In words, for people. */
  readonly result: string;
  /** Milliseconds that the receiver asks to wait. */
  readonly after?: number | undefined;
}

/** Statuses of a server that may accept the same request later: RFC 9110, section 15. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429]);

/** Whether a status means success, failure or another attempt. */
export function sentBy({ status, retryAfter }: PostResult): SendResult {
  if (status >= 200 && status < 300) {
    return { state: "delivered", result: `accepted with status ${status}` };
  }
  const isLater = status >= 500 || LATER.has(status);
  if (isLater) return { state: "retry", result: `status ${status}`, after: retryAfter };
  const why = status >= 300 && status < 400 ? ": redirects are not followed" : "";
  return { state: "failed", result: `refused with status ${status}${why}` };
}
