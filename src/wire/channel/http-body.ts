import type { IncomingMessage } from "node:http";

import type { FrameFault } from "../channel.ts";
import { ByteQueue, faultOf } from "../framing/byte-queue.ts";

/**
 * Reads a request's body as one text. A body whose Content-Length is over the limit is not read at
 * all. One that turns out to be longer is counted but not kept. One that the process has no memory
 * for is refused at once. Undefined for a request that is cut off.
 */
export async function readHttpBody(
  request: IncomingMessage,
  limit: number,
): Promise<string | FrameFault | undefined> {
  const size = Number(request.headers["content-length"] ?? 0);
  if (size > limit) return { kind: "oversize", size, limit, head: "", tail: "" };
  const body = new ByteQueue(limit, { isOfStrangers: true });
  const read = Promise.withResolvers<void>();
  const take = (chunk: Buffer): void => {
    body.append(chunk);
    if (body.isRefused) read.resolve();
  };
  request.on("data", take).on("end", read.resolve).on("error", read.reject);
  try {
    await read.promise;
    return body.isRefused ? faultOf("busy", body, limit) : body.text();
  } catch {
    return undefined;
  } finally {
    // What still comes is read and dropped: the response has to be sent.
    request.off("data", take);
    body.clear();
  }
}

/** Milliseconds in which the whole of a request arrives. */
const ARRIVES_WITHIN = 5 * 60_000;
/** Bytes that have to arrive in that time of a request that may take longer. */
const LEAST_PROGRESS = 1024 * 1024;

/** Ends requests that arrive too slowly. */
export function arrivalLimit(
  mayTakeLonger: (url: string) => boolean,
): (request: IncomingMessage) => void {
  return (request) => {
    const { socket, method, url = "" } = request;
    if (method === "GET" || method === "HEAD") return;
    let seen = socket.bytesRead;
    const late = setTimeout(() => {
      const isSlow = !mayTakeLonger(url) || socket.bytesRead - seen < LEAST_PROGRESS;
      seen = socket.bytesRead;
      if (isSlow) socket.destroy();
      else late.refresh();
    }, ARRIVES_WITHIN).unref();
    for (const end of ["end", "close"]) request.once(end, () => clearTimeout(late));
  };
}
