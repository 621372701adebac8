import {
  HEADER,
  LONGEST_PAYLOAD,
  readFrames,
  type TakeFrame,
  writeHeader,
} from "../control-frame.ts";
import { addressOf, fixedBuffer, type Pointer } from "../../../base/process/ffi.ts";
import { native } from "./native.ts";

const INPUT = 0;
const OUTPUT = 1;
const DONT_WAIT = process.platform === "darwin" ? 0x80 : 0x40;
const IN_SIZE = 1024 * 1024;
const OUT_SIZE = 2 * 1024 * 1024;

/** The engine's end of the pipes to the program: commands come in, events go out in batches. */
export class ControlPipe {
  readonly inputFd = INPUT;
  readonly outputFd = OUTPUT;
  readonly #in = fixedBuffer(IN_SIZE);
  readonly #inAddress = addressOf(this.#in);
  #inLength = 0;
  readonly #out = fixedBuffer(OUT_SIZE);
  readonly #outAddress = addressOf(this.#out);
  #outStart = 0;
  #outEnd = 0;

  /** Hands over the commands that are there. False when the program is gone. */
  read(take: TakeFrame): boolean {
    const got = Number(
      native.recv(
        INPUT,
        this.#inAddress + BigInt(this.#inLength),
        BigInt(IN_SIZE - this.#inLength),
        DONT_WAIT,
      ),
    );
    // The pipe was reported as readable, so reading nothing means that it is broken.
    if (got <= 0) return false;
    this.#inLength += got;
    const done = readFrames(this.#in.subarray(0, this.#inLength), take);
    this.#in.copyWithin(0, done, this.#inLength);
    this.#inLength -= done;
    return true;
  }

  /** Events wait for the program to read. */
  get isFull(): boolean {
    return OUT_SIZE - (this.#outEnd - this.#outStart) < 2 * (LONGEST_PAYLOAD + HEADER);
  }

  get hasOutput(): boolean {
    return this.#outEnd > this.#outStart;
  }

  event(kind: number, flags: number, id: number, payload?: Buffer): void {
    const length = payload?.length ?? 0;
    this.#makeRoom(length);
    payload?.copy(this.#out, this.#outEnd + HEADER);
    this.commit(kind, flags, id, length);
  }

  eventNumber(kind: number, flags: number, id: number, value: number): void {
    this.#makeRoom(4);
    this.#out.writeUInt32LE(value, this.#outEnd + HEADER);
    this.commit(kind, flags, id, 4);
  }

  eventJson(kind: number, id: number, value: object): void {
    this.event(kind, 0, id, Buffer.from(JSON.stringify(value)));
  }

  /** Where native code may put the payload of the next event, which `commit` then completes. */
  reserve(size: number): Pointer {
    this.#makeRoom(size);
    return this.#outAddress + BigInt(this.#outEnd + HEADER);
  }

  /** Puts a number before what native code will write. */
  lead(value: number): void {
    this.#out.writeUInt32LE(value, this.#outEnd + HEADER);
  }

  commit(kind: number, flags: number, id: number, length: number): void {
    writeHeader(this.#out, this.#outEnd, kind, flags, id, length);
    this.#outEnd += HEADER + length;
  }

  /** Sends what the program's buffer takes. */
  flush(): void {
    if (!this.hasOutput) return;
    const sent = Number(
      native.send(
        OUTPUT,
        this.#outAddress + BigInt(this.#outStart),
        BigInt(this.#outEnd - this.#outStart),
        DONT_WAIT,
      ),
    );
    if (sent > 0) this.#outStart += sent;
    if (!this.hasOutput) this.#outStart = this.#outEnd = 0;
  }

  #makeRoom(payload: number): void {
    if (OUT_SIZE - this.#outEnd >= HEADER + payload) return;
    this.#out.copyWithin(0, this.#outStart, this.#outEnd);
    this.#outEnd -= this.#outStart;
    this.#outStart = 0;
    // Room is reserved for events without data; only a program that never reads gets here.
    if (OUT_SIZE - this.#outEnd < HEADER + payload) throw new Error("The program does not read");
  }
}
