import { isUtf8 } from "node:buffer";
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
  try {
    // The response still has to be sent: leaving the loop must not close the connection.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      body.append(chunk as Buffer);
      if (body.isRefused) return faultOf("busy", body, limit);
    }
    const bytes = body.take();
    if (bytes === undefined) return faultOf("oversize", body, limit);
    return isUtf8(bytes) ? bytes.toString() : faultOf("encoding", body, limit);
  } catch {
    return undefined;
  } finally {
    body.clear();
  }
}
