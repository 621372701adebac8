import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";

import type { FrameFault } from "../wire/channel.ts";
import { SseDecoder } from "../wire/framing/sse.ts";
import { wholeBody } from "../wire/framing/whole-body.ts";

export interface HttpExchangeOptions {
  readonly url: URL;
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Bytes of one message. */
  readonly maxMessage: number;
}

/** What comes back on one exchange. */
export interface HttpAnswer {
  /** The status and the headers are here. */
  head(response: IncomingMessage): void;
  /** One message: the body, or an event's data. `id` is the event's, where it has one. */
  message(text: string, id: string, event: string): void;
  /** The stream says how many milliseconds to wait before it is taken up again. */
  retry?(milliseconds: number): void;
  fault(fault: FrameFault): void;
  /** Nothing more comes; with an error, something should have. */
  end(error?: Error): void;
}

/** One HTTP request, and what it is answered with: a JSON body or a stream of events. */
export function exchange(options: HttpExchangeOptions, answer: HttpAnswer): ClientRequest {
  const { url, method, headers, body, maxMessage } = options;
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  let isOver = false;
  const end = (error?: Error): void => {
    if (isOver) return;
    isOver = true;
    answer.end(error);
  };
  const request = send(url, { method, headers }, (response) => {
    answer.head(response);
    const isStream = response.headers["content-type"]?.startsWith("text/event-stream") === true;
    const fault = (lost: FrameFault): void => answer.fault(lost);
    const decoder = isStream
      ? new SseDecoder(maxMessage, {
          event: ({ data, id, event }) => answer.message(data, id, event),
          fault,
        })
      : wholeBody.decoder(maxMessage, { text: (text) => answer.message(text, "", ""), fault });
    response.on("data", (chunk: Buffer) => {
      if (isStream) readRetry(chunk, answer);
      decoder.push(chunk);
    });
    response.on("end", () => {
      decoder.end();
      end();
    });
    response.on("error", end);
    response.on("close", () => end(new Error("The answer was cut off")));
  });
  request.on("error", end);
  request.end(body);
  return request;
}

/** A JSON text has no line breaks, so what begins a line is the field. */
function readRetry(chunk: Buffer, answer: HttpAnswer): void {
  if (!chunk.includes("retry:")) return;
  const field = /(?:^|[\r\n])retry: ?(\d{1,6})(?=[\r\n])/.exec(chunk.toString("latin1"));
  if (field !== null) answer.retry?.(Number(field[1]));
}
