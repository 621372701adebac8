import { ByteBudget } from "../../base/limit/byte-budget.ts";
import { ByteQueue } from "./byte-queue.ts";

/** Orchestra's framing: a 32-bit big-endian length, then as many bytes. */
export const PREFIX = 4;

/**
 * The bus counts what each guest has under way, unfinished frames too, and refuses what is too much.
 * In the budget of the process, one guest could take the room of all other doors.
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
export class LengthPrefixedDecoder {
  readonly #limit: number;
  readonly #out: Frames;
  readonly #prefix = Buffer.alloc(PREFIX);
  #prefixLength = 0;
  readonly #body: ByteQueue;
  /** Bytes of the present frame still to come; -1 between frames. */
  #missing = -1;
  #isRefused = false;

  constructor(limit: number, out: Frames) {
    this.#limit = limit;
    this.#out = out;
    this.#body = new ByteQueue(limit, { budget: UNCOUNTED });
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && !this.#isRefused) {
      if (this.#missing < 0) at = this.#readPrefix(chunk, at);
      else at = this.#readBody(chunk, at);
      if (this.#missing === 0) this.#finish();
    }
  }

  end(): void {
    if (this.#missing > 0) this.#out.truncated(this.#missing);
    else if (this.#prefixLength > 0) this.#out.truncated(PREFIX - this.#prefixLength);
    this.#prefixLength = 0;
    this.#reset();
  }

  #readPrefix(chunk: Buffer, at: number): number {
    const end = at + PREFIX - this.#prefixLength;
    const taken = chunk.copy(this.#prefix, this.#prefixLength, at, end);
    this.#prefixLength += taken;
    if (this.#prefixLength === PREFIX) this.#begin(this.#prefix.readUInt32BE());
    return at + taken;
  }

  #begin(length: number): void {
    this.#prefixLength = 0;
    if (length <= this.#limit) {
      this.#missing = length;
      return;
    }
    this.#isRefused = true;
    this.#out.oversize(length);
  }

  #readBody(chunk: Buffer, at: number): number {
    const part = chunk.subarray(at, at + this.#missing);
    this.#missing -= part.length;
    this.#body.append(part);
    return at + part.length;
  }

  #finish(): void {
    const body = Buffer.from(this.#body.take() ?? []);
    this.#reset();
    this.#out.frame(body);
  }

  #reset(): void {
    this.#body.clear();
    this.#missing = -1;
  }
}
