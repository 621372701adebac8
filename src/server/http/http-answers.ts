import {
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { Duplex } from "node:stream";

import { diskWords, type ErrorCode, TrunklineError } from "../../base/errors.ts";
import { DEFAULT_LIMITS } from "../../base/limit/limits.ts";
import type { Log } from "../../base/log.ts";
import { maskText } from "../../base/text/mask.ts";
import { parseMessage } from "../../rpc/message/message.ts";
import type { Principal } from "../../base/principal.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { readHttpBody } from "../../wire/channel/http-body.ts";

/** Answers a request that was let in. */
export type HandleRequest = (
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  principal: Principal,
) => void;

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

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  value: object,
  headers?: OutgoingHttpHeaders,
  status = 200,
): void {
  send(response, status, "application/json", JSON.stringify(value), headers);
}

/** A body that is too large, or is not UTF-8. */
class BodyTooLarge extends TrunklineError {}

/**
 * The JSON object that a request has. Throws "usage" if it has none, a longer one, or one whose parsing
 * would keep others waiting.
 */
export async function readJson(
  request: IncomingMessage,
  largest: number,
): Promise<Readonly<Record<string, unknown>>> {
  const text = await readHttpBody(request, largest);
  const value = typeof text === "string" ? parseMessage(text || "{}", DEFAULT_LIMITS) : undefined;
  const why = value instanceof RpcError ? ` ${value.message}` : "";
  if (typeof value === "object" && value !== null && !Array.isArray(value) && why === "") {
    return value as Record<string, unknown>;
  }
  const Fault = typeof text === "object" ? BodyTooLarge : TrunklineError;
  throw new Fault("usage", `Send a JSON object of at most ${largest} bytes.${why}`);
}

const STATUS: Readonly<Record<ErrorCode, number>> = {
  usage: 400,
  config: 400,
  untrusted: 403,
  "not-found": 404,
  conflict: 409,
  closed: 410,
  cancelled: 409,
  limit: 429,
  timeout: 504,
  unavailable: 503,
};

/** Answers with the error's message. An error without words for others is only logged. */
export function failWith(response: ServerResponse, error: unknown, path: string, log: Log): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const words = error instanceof TrunklineError ? error.message : diskWords(error);
  if (words !== undefined) return fail(response, statusOf(error), maskText(words));
  const correlation = crypto.randomUUID().slice(0, 8);
  log.error("http.failed", { correlation, path, error });
  return fail(response, 500, `Something failed in Trunkline: see '${correlation}' in its log.`);
}

/** Answers with an error status and its reason. */
export function fail(
  response: ServerResponse,
  status: number,
  error: string,
  headers?: OutgoingHttpHeaders,
): void {
  sendJson(response, { error }, headers, status);
}

/** Refuses an `Upgrade` request. */
export function refuseMethod(response: ServerResponse, path: string, allow: string): void {
  fail(response, 405, `${path} does not support this method`, { allow });
}

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

function statusOf(error: unknown): number {
  if (error instanceof BodyTooLarge) return 413;
  return error instanceof TrunklineError ? STATUS[error.code] : 503;
}
