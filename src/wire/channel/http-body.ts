import type { IncomingMessage } from "node:http";

import type { FrameFault } from "../channel.ts";
import { wholeBody } from "../framing/whole-body.ts";

/**
 * Reads a request's body as one text. One that says it is over the limit is not read at all; one
 * that turns out to be is counted, not kept. Nothing comes of a request that is cut off.
 */
export function readHttpBody(
  request: IncomingMessage,
  limit: number,
  done: (body: string | FrameFault) => void,
): void {
  const size = Number(request.headers["content-length"] ?? 0);
  if (size > limit) {
    done({ kind: "oversize", size, limit, head: "", tail: "" });
    return;
  }
  let body: string | FrameFault = "";
  const decoder = wholeBody.decoder(limit, {
    text: (text) => (body = text),
    fault: (fault) => (body = fault),
  });
  request.on("data", (chunk: Buffer) => decoder.push(chunk));
  request.on("end", () => {
    decoder.end();
    done(body);
  });
}
