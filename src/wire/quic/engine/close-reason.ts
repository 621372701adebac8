import { addressOf, fixedBuffer, fixedText, lend, native, type Pointer } from "./native.ts";

const RAPID = 1n;
const NO_STREAM_FLUSH = 2n;
const NO_BLOCK = 4n;
const SIZE = 16;

/** The code and the reason with which a connection is closed, as OpenSSL wants them. */
export class CloseReason {
  readonly #words: Buffer;

  constructor(code: number, reason: string) {
    const text = fixedText(reason);
    this.#words = fixedBuffer(SIZE + text.length);
    text.copy(this.#words, SIZE);
    this.#words.writeBigUInt64LE(BigInt(code), 0);
    // The reason is kept beside its address.
    this.#words.writeBigUInt64LE(addressOf(this.#words) + BigInt(SIZE), 8);
  }

  /**
   * Has a connection close; with `flush`, only once what was sent has arrived, for which it is to be
   * called again. It need not wait for the peer to have heard.
   */
  say(ssl: Pointer, flush: boolean): void {
    const flags = RAPID | NO_BLOCK | (flush ? 0n : NO_STREAM_FLUSH);
    native.ERR_clear_error();
    lend(this.#words, (address) => native.SSL_shutdown_ex(ssl, flags, address, BigInt(SIZE)));
  }
}
