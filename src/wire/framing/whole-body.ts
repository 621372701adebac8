import { ByteQueue } from "./byte-queue.ts";
import type { TextDecoder, TextFrames, TextFraming } from "./ndjson.ts";

/** The stream is one message from its first byte to its last, as an HTTP body is. */
export const wholeBody: TextFraming = {
  decoder: (limit, out) => wholeBodyDecoder(limit, out),
};

function wholeBodyDecoder(limit: number, out: TextFrames): TextDecoder {
  const body = new ByteQueue(limit);
  return {
    push: (chunk) => body.append(chunk),
    end() {
      const found = body.text();
      if (typeof found !== "string") out.fault(found);
      else if (found !== "") out.text(found);
      body.clear();
    },
  };
}
