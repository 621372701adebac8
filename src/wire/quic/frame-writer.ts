import type { Writable } from "node:stream";
import { aboutToSend, atTurnEnd } from "../../base/event-loop.ts";
import { HEADER, writeHeader } from "./control-frame.ts";

const SLAB = 64 * 1024;
/** Larger payloads are passed on as they are, smaller ones gathered into one write. */
const LARGE = 16 * 1024;

/** Sends frames. Everything sent in one turn of the event loop goes out in one write. */
export class FrameWriter {
  readonly #output: Writable;
  #slab = Buffer.allocUnsafeSlow(SLAB);
  #from = 0;
  #to = 0;
  #parts: Uint8Array[] = [];
  #isScheduled = false;
  #gathered = 0;
  #frames = 0;

  constructor(output: Writable) {
    this.#output = output;
  }

  /** Bytes that go out at the end of this turn. */
  get gathered(): number {
    return this.#gathered;
  }

  /** `lead` goes before the payload. */
  send(kind: number, flags: number, id: number, payload?: Uint8Array, lead?: number): void {
    const ahead = HEADER + (lead === undefined ? 0 : 4);
    const length = payload?.length ?? 0;
    const isLarge = length >= LARGE;
    if (this.#gathered === 0) this.#reuse();
    this.#makeRoom(ahead + (isLarge ? 0 : length));
    writeHeader(this.#slab, this.#to, kind, flags, id, ahead - HEADER + length);
    if (lead !== undefined) this.#slab.writeUInt32LE(lead, this.#to + HEADER);
    this.#to += ahead;
    this.#gathered += ahead + length;
    this.#frames++;
    if (payload !== undefined && isLarge) {
      this.#closePart();
      this.#parts.push(payload);
    } else if (payload !== undefined) {
      this.#slab.set(payload, this.#to);
      this.#to += length;
    }
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    atTurnEnd(this.flush);
  }

  /** Sends now what would be sent at the end of this turn. */
  readonly flush = (): void => {
    this.#isScheduled = false;
    this.#gathered = 0;
    this.#closePart();
    const parts = this.#parts;
    this.#parts = [];
    if (this.#output.destroyed) return;
    // What an answer tells is on record before it leaves: once for all that leaves together.
    aboutToSend(this.#frames);
    this.#frames = 0;
    if (parts.length > 1) this.#output.cork();
    for (const part of parts) this.#output.write(part);
    if (parts.length > 1) this.#output.uncork();
  };

  /** Begins the slab anew if all that was sent from it has left: a new one is work for the collector. */
  #reuse(): void {
    if (this.#output.writableLength === 0) this.#from = this.#to = 0;
  }

  #makeRoom(size: number): void {
    if (this.#slab.length - this.#to >= size) return;
    this.#closePart();
    this.#slab = Buffer.allocUnsafeSlow(SLAB);
    this.#from = this.#to = 0;
  }

  #closePart(): void {
    if (this.#to > this.#from) this.#parts.push(this.#slab.subarray(this.#from, this.#to));
    this.#from = this.#to;
  }
}
