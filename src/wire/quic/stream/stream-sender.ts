import { LONGEST_PAYLOAD } from "../control-frame.ts";

/** Leaves room in a payload for what precedes the bytes that open a stream. */
const PIECE = LONGEST_PAYLOAD - 4;

interface Waiting {
  bytes: Uint8Array;
  readonly isLast: boolean;
  readonly promise: PromiseWithResolvers<void>;
}

const SENT = Promise.resolve();

/** What the sending half of a stream asks of its owner. */
export interface SenderOwner {
  /** Sends a piece, for which there is room. */
  pass(piece: Uint8Array, isLast: boolean): void;
}

/** The sending half of a stream (RFC 9000 § 3.1): passes bytes on in pieces, as far as there is room. */
export class StreamSender {
  readonly #owner: SenderOwner;
  readonly #waiting: Waiting[] = [];
  #room: number;
  #isEnded = false;
  #error: Error | undefined;

  constructor(owner: SenderOwner, room: number) {
    this.#owner = owner;
    this.#room = room;
  }

  /** Everything was passed on. */
  get isDone(): boolean {
    return this.#isEnded && this.#waiting.length === 0;
  }

  /** Resolves when all of it was passed on. */
  add(bytes: Uint8Array, isLast: boolean): Promise<void> {
    if (this.#error !== undefined) return handled(Promise.reject(this.#error));
    if (this.#isEnded) throw new Error("Cannot send more: the end of the stream was sent.");
    this.#isEnded = isLast;
    if (this.#waiting.length === 0 && bytes.length <= this.#room) {
      this.#pass(bytes, isLast);
      return SENT;
    }
    const promise = Promise.withResolvers<void>();
    this.#waiting.push({ bytes, isLast, promise });
    this.#passWaiting();
    return handled(promise.promise);
  }

  giveRoom(bytes: number): void {
    this.#room += bytes;
    this.#passWaiting();
  }

  fail(error: Error): void {
    this.#error ??= error;
    for (const { promise } of this.#waiting.splice(0)) promise.reject(this.#error);
  }

  #passWaiting(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const part = first.bytes.subarray(0, this.#room);
      const isWhole = part.length === first.bytes.length;
      if (part.length === 0 && !isWhole) return;
      this.#pass(part, isWhole && first.isLast);
      if (!isWhole) {
        first.bytes = first.bytes.subarray(part.length);
        return;
      }
      this.#waiting.shift();
      first.promise.resolve();
    }
  }

  #pass(bytes: Uint8Array, isLast: boolean): void {
    this.#room -= bytes.length;
    let at = 0;
    do {
      const piece = bytes.subarray(at, at + PIECE);
      at += piece.length;
      this.#owner.pass(piece, isLast && at === bytes.length);
    } while (at < bytes.length);
  }
}

/** Whoever does not wait for it learns of the failure elsewhere. */
function handled(promise: Promise<void>): Promise<void> {
  promise.catch(() => {});
  return promise;
}
