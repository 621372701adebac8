import { addressOf, native, pinnedBuffer, type Pointer } from "./native.ts";

const CLASS_GENERIC = 0;
const VALUE_WRITE_BUFFER_USED = 8;
const value = pinnedBuffer(8);
const valueAddress = addressOf(value);

/**
 * Bytes of one connection that OpenSSL was given and the peer has not acknowledged. OpenSSL would
 * take any number of them, and keep all of them for a peer that reads nothing.
 */
const MOST_UNDER_WAY = 4 * 1024 * 1024;

/** A stream with something to send. */
export interface Sender {
  /** Counts anew what of it is under way. */
  recount(): void;
  /** There is room to go on. */
  resume(): void;
}

/** How much of what a connection is to send is under way or waits for that. */
export class SendWindow {
  readonly #changed: (bytes: number) => void;
  /** Streams with bytes under way. */
  readonly #senders = new Set<Sender>();
  readonly #waiting = new Set<Sender>();
  #underWay = 0;
  #held = 0;

  /** `changed` is told how many more bytes there are, or fewer. */
  constructor(changed: (bytes: number) => void) {
    this.#changed = changed;
  }

  /** All that there is, under way or not. */
  get size(): number {
    return this.#underWay + this.#held;
  }

  get hasRoom(): boolean {
    return this.#underWay < MOST_UNDER_WAY;
  }

  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** So many more bytes are under way, or fewer; of a stream, if that has not ended. */
  move(bytes: number, sender?: Sender): void {
    if (bytes > 0 && sender !== undefined) this.#senders.add(sender);
    this.#underWay += bytes;
    this.#changed(bytes);
  }

  /** So many more bytes wait, or fewer. */
  hold(bytes: number): void {
    this.#held += bytes;
    this.#changed(bytes);
  }

  /** Has the stream go on when there is room. */
  await(sender: Sender): void {
    this.#waiting.add(sender);
  }

  forget(sender: Sender): void {
    this.#senders.delete(sender);
    this.#waiting.delete(sender);
  }

  /** Looks what has arrived, and lets those go on that wait for room. Returns whether one could. */
  advance(): boolean {
    for (const sender of this.#senders) sender.recount();
    const hadRoom = this.hasRoom;
    for (const sender of [...this.#waiting]) {
      if (!this.hasRoom) break;
      this.#waiting.delete(sender);
      sender.resume();
    }
    return hadRoom;
  }
}

/** Bytes of a stream that OpenSSL keeps until they have arrived. */
export function bytesUnderWay(ssl: Pointer): number {
  native.SSL_get_value_uint(ssl, CLASS_GENERIC, VALUE_WRITE_BUFFER_USED, valueAddress);
  return Number(value.readBigUInt64LE());
}
