import { isUtf8 } from "node:buffer";
import { ByteQueue } from "./byte-queue.ts";
import type { FrameFault } from "../channel.ts";

/** Receives what a decoder finds. */
export interface TextFrames {
  text(message: string): void;
  fault(fault: FrameFault): void;
}

/** Turns the bytes of one direction into messages, however the chunks fall. */
export interface TextDecoder {
  push(chunk: Buffer): void;
  /** The input is over: what is unfinished is delivered or reported. */
  end(): void;
}

/** How messages are found in a byte stream. */
export interface TextFraming {
  /** `limit` bounds one message in bytes, and the memory of the decoder. */
  readonly decoder: (limit: number, out: TextFrames) => TextDecoder;
}

/** How messages are found in a byte stream, and laid into one. */
export interface StreamFraming extends TextFraming {
  readonly encode: (text: string) => string;
}

const LF = 0x0a;
/** RFC 8259 § 2: what JSON calls whitespace. */
const BLANK = /^[ \t\r]*$/;

/**
 * One JSON text a line. MCP 2025-11-25, Transports § stdio: messages are delimited by newlines and must
 * not contain any.
 */
export const ndjson: StreamFraming = {
  decoder: (limit, out) => ndjsonDecoder(limit, out),
  encode: (text) => `${text}\n`,
};

/**
 * Splits bytes into lines of UTF-8 text, however the chunks fall.
 *
 * A chunk's complete lines are validated and decoded in one go, since one pass over 64 KiB costs far
 * less than a pass per line. Only an unfinished last line is copied. A line over the limit is
 * reported when its newline arrives; until then its bytes are counted and dropped.
 */
function ndjsonDecoder(limit: number, out: TextFrames): TextDecoder {
  const unfinished = new ByteQueue(limit);
  /** Emits the lines of `chunk[start..last]`, where `chunk[last]` is a newline. */
  const lines = (chunk: Buffer, start: number, last: number): void => {
    const region = chunk.subarray(start, last);
    if (!isUtf8(region) || region.length > limit) return linesOneByOne(region);
    for (const line of region.toString().split("\n")) emit(line);
  };
  /** Line by line, for a region with at least one line that cannot be delivered. */
  const linesOneByOne = (region: Buffer): void => {
    let from = 0;
    while (from <= region.length) {
      const newline = region.indexOf(LF, from);
      const to = newline < 0 ? region.length : newline;
      if (to > from) {
        unfinished.append(region.subarray(from, to));
        finishLine();
      }
      from = to + 1;
    }
  };
  const finishLine = (): void => {
    const found = unfinished.text();
    if (typeof found === "string") emit(found);
    else out.fault(found);
    unfinished.clear();
  };
  const emit = (text: string): void => {
    const line = text.endsWith("\r") ? text.slice(0, -1) : text;
    // A blank line separates messages and is none.
    if (!BLANK.test(line)) out.text(line);
  };
  return {
    push(chunk) {
      const last = chunk.lastIndexOf(LF);
      if (last < 0) return unfinished.append(chunk);
      let start = 0;
      if (unfinished.size > 0) {
        const first = chunk.indexOf(LF);
        unfinished.append(chunk.subarray(0, first));
        finishLine();
        start = first + 1;
      }
      if (start <= last) lines(chunk, start, last);
      if (last + 1 < chunk.length) unfinished.append(chunk.subarray(last + 1));
    },
    /** A last line without a newline still counts. */
    end() {
      if (unfinished.size > 0) finishLine();
    },
  };
}
