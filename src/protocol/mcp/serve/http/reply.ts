import type { OutgoingHttpHeaders, ServerResponse } from "node:http";

import { aboutToSend } from "../../../../base/event-loop.ts";
import { errorText, RpcError } from "../../../../rpc/rpc-error.ts";

/** Answers with one JSON text. */
export function reply(
  response: ServerResponse,
  status: number,
  text: string,
  headers?: OutgoingHttpHeaders,
): void {
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    ...headers,
  });
  aboutToSend();
  response.end(text);
}

/** Taken, and nothing to say about it. */
export function accepted(response: ServerResponse): void {
  response.writeHead(202, { "content-length": 0 });
  response.end();
}

/** Answers a request that reaches no peer. Where its id is not known there is none: never null. */
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

/** What has no code of its own: the transport's refusals, in the range that is left to servers. */
export function transportError(message: string, code = -32000): RpcError {
  return new RpcError(code, message);
}
