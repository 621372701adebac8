import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";

import { redirection } from "../http/http-exchange.ts";
import type { OperationRequest } from "./openapi-server.ts";

export interface HttpResult {
  readonly status: number;
  /** The content type. */
  readonly type: string;
  readonly body: Buffer;
  /** The rest was not read. */
  readonly isCut: boolean;
}

const MOST_REDIRECTS = 5;

/**
 * One request, and its answer up to so many bytes. A redirection is followed at the same origin only:
 * credentials are for no other.
 */
export async function httpCall(
  request: OperationRequest,
  most: number,
  signal: AbortSignal,
): Promise<HttpResult> {
  let { url } = request;
  for (let redirects = 0; ; redirects++) {
    const response = await send({ ...request, url }, signal);
    const next = redirection(url, response, request.method);
    if (next === undefined) return await read(response, most);
    response.on("error", () => {}).destroy();
    if (typeof next === "string") throw new Error(`it ${next}`);
    if (redirects === MOST_REDIRECTS) throw new Error(`it redirects more than ${redirects} times`);
    url = next;
  }
}

function send(
  { url, method, headers, body }: OperationRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const make = url.protocol === "https:" ? httpsRequest : httpRequest;
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const request = make(url, { method, headers: { ...headers, ...length }, signal }, resolve);
    request.on("error", reject);
    request.end(body);
  });
}

async function read(response: IncomingMessage, most: number): Promise<HttpResult> {
  const { statusCode: status = 0, headers } = response;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    // Leaving the loop closes the connection.
    if (size > most) break;
  }
  const body = Buffer.concat(chunks).subarray(0, most);
  return { status, type: headers["content-type"] ?? "", body, isCut: size > most };
}
