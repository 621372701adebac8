import { addressOf, native } from "./native.ts";

/** An item is the number of a file, what is waited for, and what has happened. */
const ITEM = 8;

/** What the system is to look at, in memory that it reads: written only where it changes. */
export class PollList {
  #buffer = new ArrayBuffer(ITEM * 32);
  #files = new Int32Array(this.#buffer);
  #events = new Uint16Array(this.#buffer);
  #address = addressOf(new Uint8Array(this.#buffer));

  set(index: number, fd: number, events: number): void {
    if ((index + 1) * ITEM > this.#buffer.byteLength) this.#grow();
    const item = index * 4;
    if (this.#files[index * 2] === fd && this.#events[item + 2] === events) return;
    this.#files[index * 2] = fd;
    this.#events[item + 2] = events;
  }

  /** Waits until something has happened, or so many milliseconds; -1 waits for as long as it takes. */
  wait(count: number, milliseconds: number): void {
    native.poll(this.#address, BigInt(count), milliseconds);
  }

  happened(index: number): boolean {
    return this.#events[index * 4 + 3] !== 0;
  }

  #grow(): void {
    const before = this.#files;
    this.#buffer = new ArrayBuffer(this.#buffer.byteLength * 2);
    this.#files = new Int32Array(this.#buffer);
    this.#events = new Uint16Array(this.#buffer);
    this.#address = addressOf(new Uint8Array(this.#buffer));
    this.#files.set(before);
  }
}
