import { type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import { PassThrough } from "node:stream";

import type { Channel, ChannelLimits } from "../channel.ts";
import { ndjson } from "../framing/ndjson.ts";
import { sse } from "../framing/sse.ts";
import type { TextFraming } from "../framing/text-framing.ts";
import { wholeBody } from "../framing/whole-body.ts";
import { streamChannel } from "./stream.ts";

const JSON_TYPE = "application/json";
const NDJSON_TYPE = "application/x-ndjson";
const SSE_TYPE = "text/event-stream";

export interface HttpExchangeOptions {
  /** One JSON text as the body, or each message as an event. */
  readonly reply: "json" | "events";
  readonly limits?: Partial<ChannelLimits>;
}

/**
 * The server's side of one HTTP exchange, as a channel that lives as long as the exchange. The
 * request's body is one message, or one a line when its type says so. When nothing is sent back
 * before the channel is disposed, the answer is 202 without a body.
 */
export function httpExchange(
  request: IncomingMessage,
  response: ServerResponse,
  options: HttpExchangeOptions,
): Channel<string> {
  const output = options.reply === "events" ? events(response) : oneBody(response);
  return streamChannel(request, response, {
    input: typeOf(request.headers["content-type"]) === NDJSON_TYPE ? ndjson : wholeBody,
    output,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  });
}

function events(response: ServerResponse): TextFraming {
  response.writeHead(200, { "content-type": SSE_TYPE, "cache-control": "no-store" });
  response.flushHeaders();
  return sse;
}

function oneBody(response: ServerResponse): TextFraming {
  response.statusCode = 202;
  return {
    decoder: wholeBody.decoder,
    encode(message) {
      if (response.statusCode === 200) return "";
      response.statusCode = 200;
      response.setHeader("content-type", JSON_TYPE);
      return message;
    },
  };
}

export interface HttpCallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly limits?: Partial<ChannelLimits>;
}

/**
 * The client's side: what is sent goes out a line each while the request is open, what comes back
 * is read as its type says. An answer that is not a success ends the channel with an error.
 */
export function httpCall(url: URL, options: HttpCallOptions = {}): Channel<string> {
  const headers = {
    "content-type": NDJSON_TYPE,
    accept: `${JSON_TYPE}, ${SSE_TYPE}`,
    ...options.headers,
  };
  const request = httpRequest(url, { method: "POST", headers });
  const answer = new PassThrough();
  let framing: TextFraming = wholeBody;
  const input: TextFraming = {
    // The type is known with the first byte, not before.
    decoder(limit, out) {
      const inner = { decoder: undefined as ReturnType<TextFraming["decoder"]> | undefined };
      const get = () => (inner.decoder ??= framing.decoder(limit, out));
      return { push: (chunk) => get().push(chunk), end: () => get().end() };
    },
    encode: (message) => message,
  };
  request.on("response", (response) => {
    const { statusCode = 0 } = response;
    if (statusCode < 200 || statusCode > 299) {
      answer.destroy(new Error(`${url.origin} answered ${statusCode}`));
      response.resume();
      return;
    }
    framing = typeOf(response.headers["content-type"]) === SSE_TYPE ? sse : wholeBody;
    response.on("error", (error) => answer.destroy(error));
    response.pipe(answer);
  });
  request.flushHeaders();
  return streamChannel(answer, request, {
    input,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  });
}

function typeOf(contentType: string | undefined): string {
  return contentType?.split(";")[0]?.trim().toLowerCase() ?? "";
}
