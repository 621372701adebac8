import type { IncomingMessage } from "node:http";

const FIRST = 500;
const LONGEST = 30_000;
/** A server that asks for no pause at all would keep both sides busy. */
const LEAST = 100;

/**
 * Milliseconds before a stream is opened again: as long as the server wants (`asked`), and longer each
 * time that nothing came. `attempt` counts from 1.
 */
export function waitBefore(attempt: number, asked = FIRST): number {
  const wait = Math.max(asked, LEAST);
  return Math.max(wait, Math.min(LONGEST, wait * 2 ** (attempt - 1)));
}

/**
 * The waits of a stream that is opened again and again. One that was open for long has not failed, also if
 * nothing came: proxies end streams that are silent.
 */
export class StreamWaits {
  readonly #now: () => number;
  #failures = 0;
  #openedAt = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  opened(): void {
    this.#openedAt = this.#now();
  }

  /** Something came. */
  came(): void {
    this.#failures = 0;
  }

  /** It has ended: milliseconds before it is opened again. */
  ended(asked: number | undefined): number {
    if (this.#now() - this.#openedAt > LONGEST) this.#failures = 0;
    return waitBefore(++this.#failures, asked);
  }
}

/**
 * The status of an answer to GET. MCP 2025-11-25, basic/transports § Listening for Messages from the Server:
 * a stream of events, or 405. Some servers answer with a page for people, which is no stream either.
 */
export function streamStatus({
  statusCode: status = 0,
  headers,
}: Pick<IncomingMessage, "statusCode" | "headers">): number {
  const isStream = headers["content-type"]?.startsWith("text/event-stream") === true;
  return status >= 200 && status < 300 && !isStream ? 405 : status;
}
