import { TrunklineError } from "../../base/errors.ts";
import { MAX_FRAME } from "../../wire/framing/length-prefixed.ts";
import type { Content, ToolResult } from "../../tool/tool.ts";

const BINARY = "application/octet-stream";

/** The parts of an answer that is wanted whole. */
export class Pieces {
  readonly #parts: Uint8Array[] = [];
  #size = 0;
  #contentType = BINARY;

  add(data: Uint8Array, contentType: string): void {
    this.#size += data.length;
    if (this.#size > MAX_FRAME) {
      throw new TrunklineError("limit", `The answer is longer than ${MAX_FRAME} bytes`);
    }
    this.#parts.push(data);
    if (contentType !== "") this.#contentType = contentType;
  }

  result(): ToolResult {
    return { content: this.#size === 0 ? [] : [this.#content()] };
  }

  /** Text if it is valid UTF-8, whatever its content type: plugins call everything binary. */
  #content(): Content {
    const bytes = Buffer.concat(this.#parts);
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      if (!text.includes("\0")) return { type: "text", text };
    } catch {
      // Not UTF-8.
    }
    const mimeType = this.#contentType;
    const blob = bytes.toString("base64");
    return { type: "resource", resource: { uri: "bus:stream", mimeType, blob } };
  }
}
