import { ByteBudget } from "../../base/limit/byte-budget.ts";
import { ByteQueue } from "./byte-queue.ts";

/** Orchestra's framing: a 32-bit big-endian length, then as many bytes. */
export const PREFIX = 4;

/**
 * The bus counts the bytes in flight of each guest, unfinished frames too, and refuses more. If they counted
 * against the budget of the process, one guest could use up the room of all other doors.
 */
const UNCOUNTED = new ByteBudget(Infinity);

/** Orchestra's framing: the largest message. */
export const MAX_FRAME = 16 * 1024 * 1024;

export function encodeFrame(body: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX + body.length);
  frame.writeUInt32BE(body.length);
  frame.set(body, PREFIX);
  return frame;
}

export interface Frames {
  /** The bytes are the receiver's to keep. */
  frame(body: Buffer): void;
  /** A frame over the limit was announced. Nothing follows: what comes after it is not looked at. */
  oversize(length: number): void;
  /** The stream ended inside a frame. */
  truncated(missing: number): void;
}

/**
 * Finds frames in a byte stream. Memory is taken as bytes arrive, not as the prefix announces, so a
 * lying prefix costs nothing. A frame over the limit is refused as soon as its prefix is there:
 * whoever announces 4 GiB may never send them, or send them all.
 */
export function lengthPrefixedDecoder(limit: number, out: Frames) {
  /** The present frame as far as it has come, its prefix included. */
  const frame = new ByteQueue(PREFIX + limit, { budget: UNCOUNTED });
  /** Bytes that the present frame has, as far as is known: at least its prefix. */
  let end = PREFIX;
  let isRefused = false;
  const readPrefix = (): void => {
    const length = frame.head.readUInt32BE();
    end = PREFIX + length;
    if (length <= limit) return;
    isRefused = true;
    reset();
    out.oversize(length);
  };
  const finish = (): void => {
    const body = Buffer.from(frame.take()?.subarray(PREFIX) ?? []);
    reset();
    out.frame(body);
  };
  const reset = (): void => {
    frame.clear();
    end = PREFIX;
  };
  return {
    push(chunk: Buffer): void {
      for (let at = 0; at < chunk.length;) {
        if (isRefused) return;
        const part = chunk.subarray(at, at + end - frame.size);
        at += part.length;
        frame.append(part);
        if (frame.size === PREFIX) readPrefix();
        if (frame.size === end) finish();
      }
    },
    end(): void {
      const { size } = frame;
      if (size > 0) out.truncated(end - size);
      reset();
    },
  };
}
