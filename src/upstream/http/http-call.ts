import { type IncomingMessage, request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";

import { boundedBody } from "../../base/bounded-body.ts";
import { redirection } from "./http-exchange.ts";

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
}

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
  request: HttpRequest,
  most: number,
  signal: AbortSignal,
): Promise<HttpResult> {
  let { url } = request;
  for (let redirects = 0; ; redirects++) {
    const response = await sendHttp({ ...request, url }, { signal });
    const next = redirection(url, response, request.method);
    if (next === undefined) {
      const { statusCode: status = 0, headers } = response;
      const body = await boundedBody(response, most);
      return { status, type: headers["content-type"] ?? "", ...body };
    }
    response.on("error", () => {}).destroy();
    if (typeof next === "string") throw new Error(`it ${next}`);
    if (redirects === MOST_REDIRECTS) throw new Error(`it redirects more than ${redirects} times`);
    url = next;
  }
}

/** Sends a request. Resolves with the status and the headers of its answer. */
export function sendHttp(
  { url, method, headers, body }: HttpRequest,
  options: RequestOptions,
): Promise<IncomingMessage> {
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const request = send(url, { method, headers: { ...headers, ...length }, ...options }, resolve);
    request.on("error", reject);
    request.end(body);
  });
}
