import { ByteQueue } from "./byte-queue.ts";
import type { TextDecoder, TextFrames, TextFraming } from "./ndjson.ts";

/** The stream is one message from its first byte to its last, as an HTTP body is. */
export const wholeBody: TextFraming = {
  decoder: (limit, out) => new WholeBodyDecoder(limit, out),
};

class WholeBodyDecoder implements TextDecoder {
  readonly #body: ByteQueue;
  readonly #out: TextFrames;

  constructor(limit: number, out: TextFrames) {
    this.#body = new ByteQueue(limit);
    this.#out = out;
  }

  push(chunk: Buffer): void {
    this.#body.append(chunk);
  }

  end(): void {
    const found = this.#body.text();
    if (typeof found !== "string") this.#out.fault(found);
    else if (found !== "") this.#out.text(found);
    this.#body.clear();
  }
}
