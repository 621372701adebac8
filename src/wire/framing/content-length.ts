import { ByteQueue, faultOf } from "./byte-queue.ts";
import type { StreamFraming, TextDecoder, TextFrames } from "./ndjson.ts";

/** Bytes of the lines before a message. */
const LONGEST_HEAD = 8 * 1024;
const LF = 0x0a;

/** LSP 3.17, Base Protocol: lines with the length of a message, an empty one, then the message. */
export const contentLength: StreamFraming = {
  decoder: (limit, out) => new ContentLengthDecoder(limit, out),
  encode: (text) => `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
};

class ContentLengthDecoder implements TextDecoder {
  readonly #limit: number;
  readonly #out: TextFrames;
  readonly #head = new ByteQueue(LONGEST_HEAD);
  readonly #body: ByteQueue;
  /** Bytes of the present message; undefined in the lines before it. */
  #size: number | undefined;
  /** Where the next message begins is not known any more. */
  #isLost = false;

  constructor(limit: number, out: TextFrames) {
    this.#limit = limit;
    this.#out = out;
    this.#body = new ByteQueue(limit);
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && !this.#isLost;) {
      const end = this.#size === undefined ? chunk.indexOf(LF, at) + 1 || chunk.length : undefined;
      const to = end ?? Math.min(chunk.length, at + (this.#size ?? 0) - this.#body.size);
      const part = chunk.subarray(at, to);
      at = to;
      if (this.#size === undefined) this.#takeLine(part);
      else this.#body.append(part);
      if (this.#body.size === this.#size) this.#finish();
    }
  }

  end(): void {
    const unfinished = this.#size === undefined ? this.#head : this.#body;
    if (unfinished.size > 0 && !this.#isLost) this.#lose(unfinished);
  }

  #takeLine(part: Buffer): void {
    this.#head.append(part);
    const head = this.#head.take()?.toString("latin1");
    if (head !== undefined && !head.endsWith("\r\n\r\n")) return;
    const size = Number(/^content-length: *(\d{1,15}) *\r$/im.exec(head ?? "")?.[1] ?? Number.NaN);
    if (head === undefined || Number.isNaN(size)) return this.#lose(this.#head);
    this.#size = size;
    this.#head.clear();
  }

  #finish(): void {
    const found = this.#body.text();
    if (typeof found === "string") this.#out.text(found);
    else this.#out.fault(found);
    this.#body.clear();
    this.#size = undefined;
  }

  #lose(bytes: ByteQueue): void {
    this.#isLost = true;
    this.#out.fault(faultOf("encoding", bytes, this.#limit));
    bytes.clear();
  }
}
