import { addressOf, fixedBuffer } from "../../../base/process/ffi.ts";
import { native } from "./native.ts";

const IN = 1;
const OUT = 4;
const ITEM = 8;
const HAPPENED = 6;

/** Files that are waited for until one has something to read, or takes more to write. */
export class FileWatch {
  readonly #files = new Map<number, number>();

  awaitInput(fd: number): void {
    this.#files.set(fd, IN);
  }

  awaitRoom(fd: number): void {
    this.#files.set(fd, OUT);
  }

  /** Also of one that was closed. */
  forget(fd: number): void {
    this.#files.delete(fd);
  }

  /** Waits so many milliseconds at most, -1 without end, and names the files for which it was. */
  wait(milliseconds: number): readonly number[] {
    const files = [...this.#files];
    const items = fixedBuffer(ITEM * files.length);
    for (const [index, [fd, events]] of files.entries()) {
      items.writeInt32LE(fd, index * ITEM);
      items.writeUInt16LE(events, index * ITEM + 4);
    }
    native.poll(addressOf(items), BigInt(files.length), milliseconds);
    const happened = (_: unknown, index: number): boolean =>
      items.readUInt16LE(index * ITEM + HAPPENED) !== 0;
    return files.filter(happened).map(([fd]) => fd);
  }
}
