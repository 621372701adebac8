import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";

import type { FrameFault } from "../channel.ts";
import { ByteQueue, faultOf } from "../framing/byte-queue.ts";

/**
 * Reads a request's body as one text. A body whose Content-Length is over the limit is not read at
 * all. One that turns out to be longer is counted but not kept. One that the process has no memory
 * for is refused at once. A request that is cut off never calls `done`.
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
  const body = new ByteQueue(limit, { isOfStrangers: true });
  let isAnswered = false;
  const answer = (read: string | FrameFault): void => {
    isAnswered = true;
    body.clear();
    done(read);
  };
  request.on("data", (chunk: Buffer) => {
    if (isAnswered) return;
    body.append(chunk);
    if (body.isRefused) answer(faultOf("busy", body, limit));
  });
  request.on("end", () => {
    if (!isAnswered) answer(textOf(body, limit));
  });
  request.on("close", () => body.clear());
}

function textOf(body: ByteQueue, limit: number): string | FrameFault {
  const bytes = body.take();
  if (bytes === undefined) return faultOf("oversize", body, limit);
  return isUtf8(bytes) ? bytes.toString() : faultOf("encoding", body, limit);
}
