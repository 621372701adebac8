import type { FrameFault } from "../channel.ts";

/** How much of each end of a frame is remembered once the frame is over the limit. */
const HEAD = 4096;
const TAIL = 256;
/** What an idle queue may keep allocated. */
const KEEP = 64 * 1024;

/**
 * Collects the bytes of one unfinished frame, in memory bounded by the limit.
 *
 * Bytes are copied, never referenced: a frame that trickles in byte by byte must not pin one read
 * buffer for each byte. Past the limit only the ends are kept, and the count.
 */
export class ByteQueue {
  readonly #limit: number;
  #buffer = Buffer.alloc(0);
  #size = 0;
  /** The last bytes, at the end of a buffer of `TAIL`; only there once the frame is over the limit. */
  #tail: Buffer | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Bytes appended since the last `clear`, kept or not. */
  get size(): number {
    return this.#size;
  }

  append(bytes: Buffer): void {
    const before = this.#size;
    this.#size += bytes.length;
    if (this.#size > this.#limit) {
      this.#keepEnds(before, bytes);
      return;
    }
    this.#reserve(this.#size);
    bytes.copy(this.#buffer, before);
  }

  /** The frame's bytes, valid until the next call; undefined when they were over the limit. */
  take(): Buffer | undefined {
    return this.#size > this.#limit ? undefined : this.#buffer.subarray(0, this.#size);
  }

  get head(): Buffer {
    return this.#buffer.subarray(0, Math.min(this.#size, HEAD, this.#buffer.length));
  }

  get tail(): Buffer {
    const from = Math.max(0, this.#size - TAIL);
    return this.#tail?.subarray(from - this.#size) ?? this.#buffer.subarray(from, this.#size);
  }

  clear(): void {
    this.#size = 0;
    this.#tail = undefined;
    if (this.#buffer.length > KEEP) this.#buffer = Buffer.alloc(0);
  }

  #keepEnds(before: number, bytes: Buffer): void {
    if (this.#tail === undefined) {
      this.#tail = Buffer.alloc(TAIL);
      this.#keepTail(this.#tail, this.#buffer.subarray(0, before));
      // The frame is lost: let go of what was collected, but for its head.
      const head = Buffer.alloc(HEAD);
      this.#buffer.copy(head, 0, 0, Math.min(before, HEAD));
      this.#buffer = head;
    }
    if (before < HEAD) bytes.copy(this.#buffer, before, 0, HEAD - before);
    this.#keepTail(this.#tail, bytes);
  }

  #keepTail(tail: Buffer, bytes: Buffer): void {
    const kept = Math.min(TAIL, bytes.length);
    tail.copyWithin(0, kept);
    bytes.copy(tail, TAIL - kept, bytes.length - kept);
  }

  #reserve(size: number): void {
    if (size <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(
      Math.max(size, Math.min(this.#buffer.length * 2, this.#limit)),
    );
    this.#buffer.copy(grown);
    this.#buffer = grown;
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
