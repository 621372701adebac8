import { isUtf8 } from "node:buffer";

import { ByteQueue, faultOf } from "./byte-queue.ts";
import type { TextDecoder, TextFrames, TextFraming } from "./ndjson.ts";

/** The stream is one message from its first byte to its last, as an HTTP body is. */
export const wholeBody: TextFraming = {
  decoder: (limit, out) => new WholeBodyDecoder(limit, out),
};

class WholeBodyDecoder implements TextDecoder {
  readonly #limit: number;
  readonly #body: ByteQueue;
  readonly #out: TextFrames;

  constructor(limit: number, out: TextFrames) {
    this.#limit = limit;
    this.#body = new ByteQueue(limit);
    this.#out = out;
  }

  push(chunk: Buffer): void {
    this.#body.append(chunk);
  }

  end(): void {
    const bytes = this.#body.take();
    if (bytes === undefined) this.#out.fault(faultOf("oversize", this.#body, this.#limit));
    else if (!isUtf8(bytes)) this.#out.fault(faultOf("encoding", this.#body, this.#limit));
    else if (bytes.length > 0) this.#out.text(bytes.toString());
    this.#body.clear();
  }
}
