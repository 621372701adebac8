import { type OutgoingHttpHeaders, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

/** Answers with a text of the given content type. */
export function send(
  response: ServerResponse,
  status: number,
  type: string,
  body: string,
  headers: OutgoingHttpHeaders = {},
): void {
  response.writeHead(status, {
    "content-type": type,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...headers,
  });
  response.end(body);
}

/** Answers with an error status and its reason. */
export function fail(
  response: ServerResponse,
  status: number,
  error: string,
  headers?: OutgoingHttpHeaders,
): void {
  send(response, status, "application/json", JSON.stringify({ error }), headers);
}

/** Refuses an `Upgrade` request. */
export function refuseUpgrade(
  socket: Duplex,
  status: number,
  why: string,
  headers: OutgoingHttpHeaders = {},
): void {
  const lines = Object.entries({
    ...headers,
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(why),
    connection: "close",
  }).map(([name, value]) => `${name}: ${String(value)}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${why}`);
}
