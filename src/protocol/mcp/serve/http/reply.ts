import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";

import { aboutToSend, atTurnEnd, justSent } from "../../../../base/event-loop.ts";
import { STANDARD } from "../../../../rpc/codes.ts";
import { errorText, RpcError } from "../../../../rpc/rpc-error.ts";

/** A message that was posted, read and parsed. */
export interface PostedMessage {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly value: unknown;
  readonly text: string;
}

/** Answers with one JSON text. */
export function reply(
  response: ServerResponse,
  status: number,
  text: string,
  headers?: OutgoingHttpHeaders,
): void {
  const all = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    ...headers,
  };
  // At the end of the turn, so that records are written once for all answers of the turn.
  atTurnEnd(() => {
    if (response.destroyed) return;
    aboutToSend();
    response.writeHead(status, all).end(text);
    justSent();
  });
}

/** MCP, basic/transports § Sending Messages: 202 without a body for what needs no answer. */
export function accepted(response: ServerResponse): void {
  response.writeHead(202, { "content-length": 0 }).end();
}

/** Refuses a request before it reaches a peer. An unknown id is left out, never null. */
export function refuse(
  response: ServerResponse,
  status: number,
  error: RpcError,
  options: { readonly id?: string | undefined; readonly headers?: OutgoingHttpHeaders } = {},
): void {
  const { id, headers } = options;
  const known = id === undefined || id === "null" ? "" : `"id":${id},`;
  reply(response, status, `{"jsonrpc":"2.0",${known}"error":${errorText(error)}}`, headers);
}

/** The error for a message that is no valid request. */
export function invalid(why: string): RpcError {
  return RpcError.of(STANDARD.invalidRequest, why);
}

/** An error of the transport, with a code of the range that JSON-RPC 2.0 § 5.1 leaves to servers. */
export function transportError(message: string, code = -32000): RpcError {
  return new RpcError(code, message);
}

/** Whether an `Accept` header lists a type (RFC 9110 § 12.5.1). Quality values are ignored. */
export function accepts(accept: string | undefined, type: string): boolean {
  if (accept === undefined) return false;
  const group = `${type.slice(0, type.indexOf("/"))}/*`;
  for (const part of accept.split(",")) {
    const range = part.split(";", 1)[0]?.trim().toLowerCase();
    if (range === type || range === group || range === "*/*") return true;
  }
  return false;
}
