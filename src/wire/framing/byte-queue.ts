import { isUtf8 } from "node:buffer";

import { type ByteBudget, ByteReservation } from "../../base/limit/byte-budget.ts";
import type { FrameFault } from "../channel.ts";

/** How much of each end of a frame is remembered once the frame is over the limit. */
const HEAD = 4096;
const TAIL = 256;
/** Bytes that an idle queue keeps allocated. */
const KEEP = 64 * 1024;

export interface ByteQueueOptions {
  /** The sender is not trusted, so the budget may refuse its bytes. */
  readonly isOfStrangers?: boolean;
  /** The budget that kept bytes count against; default that of the process. */
  readonly budget?: ByteBudget;
}

/**
 * Collects the bytes of one unfinished frame, in memory bounded by the limit.
 *
 * Bytes are copied, never referenced: a frame that trickles in byte by byte must not pin one read
 * buffer for each byte. Past the limit only the ends are kept, and the count. What is kept counts
 * against the budget of the process; where the bytes come from strangers, the budget may refuse it.
 */
export class ByteQueue {
  readonly #limit: number;
  readonly #isOfStrangers: boolean;
  readonly #holding: ByteReservation;
  /** Bytes appended since the last `clear`, kept or not. */
  size = 0;
  /** The budget has no room for this frame. */
  isRefused = false;
  #buffer = Buffer.alloc(0);
  /** The last bytes, at the end of a buffer of `TAIL`. It exists only once the frame is over the limit. */
  #tail: Buffer | undefined;

  constructor(limit: number, { isOfStrangers = false, budget }: ByteQueueOptions = {}) {
    this.#limit = limit;
    this.#isOfStrangers = isOfStrangers;
    this.#holding = new ByteReservation(budget);
  }

  append(bytes: Buffer): void {
    const before = this.size;
    this.size += bytes.length;
    if (this.size > this.#limit || this.isRefused) return this.#keepEnds(before, bytes);
    if (this.size > this.#buffer.length) {
      const room = Math.max(this.size, Math.min(this.#buffer.length * 2, this.#limit));
      if (!this.#holding.set(room, !this.#isOfStrangers)) {
        this.isRefused = true;
        this.#keepEnds(before, bytes);
        return;
      }
      const grown = Buffer.allocUnsafe(room);
      this.#buffer.copy(grown);
      this.#buffer = grown;
    }
    bytes.copy(this.#buffer, before);
  }

  /** The frame's bytes, valid until the next call; undefined when they were over a limit. */
  take(): Buffer | undefined {
    const isLost = this.isRefused || this.size > this.#limit;
    return isLost ? undefined : this.#buffer.subarray(0, this.size);
  }

  /** The text of the whole frame, or why it is none. */
  text(): string | FrameFault {
    if (this.isRefused || this.size > this.#limit) return faultOf("oversize", this, this.#limit);
    const bytes = this.#buffer.subarray(0, this.size);
    return isUtf8(bytes) ? bytes.toString() : faultOf("encoding", this, this.#limit);
  }

  get head(): Buffer {
    return this.#buffer.subarray(0, Math.min(this.size, HEAD, this.#buffer.length));
  }

  get tail(): Buffer {
    const from = Math.max(0, this.size - TAIL);
    return this.#tail?.subarray(from - this.size) ?? this.#buffer.subarray(from, this.size);
  }

  clear(): void {
    this.size = 0;
    this.#tail = undefined;
    this.isRefused = false;
    if (this.#buffer.length > KEEP) this.#buffer = Buffer.alloc(0);
    this.#holding.set(0);
  }

  #keepEnds(before: number, bytes: Buffer): void {
    if (this.#tail === undefined) {
      this.#tail = Buffer.alloc(TAIL);
      this.#keepTail(this.#tail, this.#buffer.subarray(0, before));
      // The frame is lost: drop everything but its head.
      const head = Buffer.alloc(HEAD);
      this.#buffer.copy(head, 0, 0, Math.min(before, HEAD));
      this.#buffer = head;
      this.#holding.set(0);
    }
    if (before < HEAD) bytes.copy(this.#buffer, before, 0, HEAD - before);
    this.#keepTail(this.#tail, bytes);
  }

  #keepTail(tail: Buffer, bytes: Buffer): void {
    const kept = Math.min(TAIL, bytes.length);
    tail.copyWithin(0, kept);
    bytes.copy(tail, TAIL - kept, bytes.length - kept);
  }
}

export function faultOf(kind: FrameFault["kind"], frame: ByteQueue, limit: number): FrameFault {
  return {
    kind,
    size: frame.size,
    limit,
    head: frame.head.toString(),
    tail: frame.tail.toString(),
  };
}
