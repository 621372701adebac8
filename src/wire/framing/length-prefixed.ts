import type { FrameFault } from "../channel.ts";

/** A frame is a 32-bit big-endian length and so many bytes. */
const PREFIX = 4;

/** What the bus allows in one frame. */
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
  fault(fault: FrameFault): void;
  /** The stream ended inside a frame. */
  truncated(missing: number): void;
}

/**
 * Finds frames in a byte stream. Memory is taken as bytes arrive, not as the prefix announces, so a
 * lying prefix costs nothing. A frame over the limit is skipped and reported at its end.
 */
export class LengthPrefixedDecoder {
  readonly #limit: number;
  readonly #out: Frames;
  readonly #prefix = Buffer.alloc(PREFIX);
  #prefixLength = 0;
  #parts: Buffer[] = [];
  #size = 0;
  /** Bytes of the present frame still to come; -1 between frames. */
  #missing = -1;

  constructor(limit: number, out: Frames) {
    this.#limit = limit;
    this.#out = out;
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#missing < 0) at = this.#readPrefix(chunk, at);
      else at = this.#readBody(chunk, at);
      if (this.#missing === 0) this.#finish();
    }
  }

  end(): void {
    if (this.#missing > 0) this.#out.truncated(this.#missing);
    else if (this.#prefixLength > 0) this.#out.truncated(PREFIX - this.#prefixLength);
    this.#reset();
  }

  #readPrefix(chunk: Buffer, at: number): number {
    const taken = chunk.copy(
      this.#prefix,
      this.#prefixLength,
      at,
      at + PREFIX - this.#prefixLength,
    );
    this.#prefixLength += taken;
    if (this.#prefixLength === PREFIX) {
      this.#missing = this.#size = this.#prefix.readUInt32BE();
      this.#prefixLength = 0;
    }
    return at + taken;
  }

  #readBody(chunk: Buffer, at: number): number {
    const part = chunk.subarray(at, at + this.#missing);
    this.#missing -= part.length;
    if (this.#size <= this.#limit) this.#parts.push(part);
    else if (this.#parts.length === 0) this.#parts.push(part.subarray(0, 64));
    return at + part.length;
  }

  #finish(): void {
    const parts = this.#parts;
    const size = this.#size;
    this.#reset();
    if (size <= this.#limit) {
      this.#out.frame(Buffer.concat(parts, size));
    } else {
      const head = parts[0]?.toString("latin1") ?? "";
      this.#out.fault({ kind: "oversize", size, limit: this.#limit, head, tail: "" });
    }
  }

  #reset(): void {
    this.#parts = [];
    this.#size = 0;
    this.#missing = -1;
    this.#prefixLength = 0;
  }
}
