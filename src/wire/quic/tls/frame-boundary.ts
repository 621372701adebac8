const PREFIX = 4;

/** What a chunk of a byte stream begins with, seen by the frames in it. */
export interface Piece {
  /** So many bytes of the chunk belong to it. */
  readonly length: number;
  /** The bytes as they came; a prefix only once all of it is there. */
  readonly data: readonly Buffer[];
  /** Its frame ends with it. */
  readonly isEnd: boolean;
  /** That frame is empty: the prefix alone, which is not in the data. */
  readonly isEmpty: boolean;
}

/** Finds where the length-prefixed frames of a byte stream end, and passes them on as they are. */
export class FrameBoundary {
  readonly #limit: number;
  #prefix = Buffer.alloc(PREFIX);
  #prefixLength = 0;
  #missing = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The piece that a chunk begins with: up to the end of its frame, or all of it. */
  next(chunk: Buffer): Piece {
    const data: Buffer[] = [];
    let at = 0;
    if (this.#missing === 0) {
      at = chunk.copy(this.#prefix, this.#prefixLength, 0, PREFIX - this.#prefixLength);
      this.#prefixLength += at;
      if (this.#prefixLength < PREFIX) return { length: at, data, isEnd: false, isEmpty: false };
      this.#prefixLength = 0;
      this.#missing = this.#prefix.readUInt32BE();
      if (this.#missing === 0) return { length: at, data, isEnd: true, isEmpty: true };
      if (this.#missing > this.#limit) throw new FrameTooLong(this.#missing, this.#limit);
      data.push(this.#prefix);
      this.#prefix = Buffer.alloc(PREFIX);
    }
    const end = Math.min(chunk.length, at + this.#missing);
    this.#missing -= end - at;
    if (end > at) data.push(chunk.subarray(at, end));
    return { length: end, data, isEnd: this.#missing === 0, isEmpty: false };
  }
}

class FrameTooLong extends Error {
  constructor(length: number, limit: number) {
    super(`a frame of ${length} bytes was announced, the limit is ${limit}`);
  }
}
