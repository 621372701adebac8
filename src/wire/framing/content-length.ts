import { ByteQueue, faultOf } from "./byte-queue.ts";
import type { StreamFraming, TextDecoder, TextFrames } from "./ndjson.ts";

/** Bytes of the lines before a message. */
const LONGEST_HEAD = 8 * 1024;
const LF = 0x0a;

/** LSP 3.17, Base Protocol: lines with the length of a message, an empty one, then the message. */
export const contentLength: StreamFraming = {
  decoder: (limit, out) => contentLengthDecoder(limit, out),
  encode: (text) => `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
};

function contentLengthDecoder(limit: number, out: TextFrames): TextDecoder {
  const headBytes = new ByteQueue(LONGEST_HEAD);
  const body = new ByteQueue(limit);
  /** Bytes of the present message; undefined in the lines before it. */
  let length: number | undefined;
  /** Where the next message begins is not known any more. */
  let isLost = false;
  const takeLine = (part: Buffer): void => {
    headBytes.append(part);
    const head = headBytes.take()?.toString("latin1");
    if (head !== undefined && !head.endsWith("\r\n\r\n")) return;
    const size = Number(/^content-length: *(\d{1,15}) *\r$/im.exec(head ?? "")?.[1] ?? Number.NaN);
    if (head === undefined || Number.isNaN(size)) return lose(headBytes);
    length = size;
    headBytes.clear();
  };
  const finish = (): void => {
    const found = body.text();
    if (typeof found === "string") out.text(found);
    else out.fault(found);
    body.clear();
    length = undefined;
  };
  const lose = (bytes: ByteQueue): void => {
    isLost = true;
    out.fault(faultOf("encoding", bytes, limit));
    bytes.clear();
  };
  return {
    push(chunk) {
      for (let at = 0; at < chunk.length;) {
        if (isLost) return;
        const end = length === undefined ? chunk.indexOf(LF, at) + 1 || chunk.length : undefined;
        const to = end ?? Math.min(chunk.length, at + (length ?? 0) - body.size);
        const part = chunk.subarray(at, to);
        at = to;
        if (length === undefined) takeLine(part);
        else body.append(part);
        if (body.size === length) finish();
      }
    },
    end() {
      const unfinished = length === undefined ? headBytes : body;
      if (unfinished.size > 0 && !isLost) lose(unfinished);
    },
  };
}
