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
