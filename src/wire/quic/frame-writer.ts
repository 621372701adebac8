import type { Writable } from "node:stream";
import { aboutToSend, atTurnEnd } from "../../base/event-loop.ts";
import { HEADER, writeHeader } from "./control-frame.ts";

/** Sends frames. Everything sent in one turn of the event loop goes out in one write. */
export class FrameWriter {
  readonly #output: Writable;
  #parts: Uint8Array[] = [];
  /** Bytes that go out at the end of this turn. */
  gathered = 0;

  constructor(output: Writable) {
    this.#output = output;
  }

  /** `lead` goes before the payload, which must not be changed afterwards. */
  send(kind: number, flags: number, id: number, payload?: Uint8Array, lead?: number): void {
    const head = Buffer.allocUnsafe(lead === undefined ? HEADER : HEADER + 4);
    const length = payload?.length ?? 0;
    writeHeader(head, 0, kind, flags, id, head.length - HEADER + length);
    if (lead !== undefined) head.writeUInt32LE(lead, HEADER);
    if (this.gathered === 0) atTurnEnd(this.flush);
    this.gathered += head.length + length;
    this.#parts.push(head);
    if (payload !== undefined) this.#parts.push(payload);
  }

  /** Sends now what would be sent at the end of this turn. */
  readonly flush = (): void => {
    const parts = this.#parts;
    this.#parts = [];
    this.gathered = 0;
    if (parts.length === 0 || this.#output.destroyed) return;
    // Records must be written before an answer that reports them is sent. This runs once for all frames that
    // leave together.
    aboutToSend();
    this.#output.write(Buffer.concat(parts));
  };
}
