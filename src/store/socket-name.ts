import { closeSync, openSync } from "node:fs";
import { basename, dirname } from "node:path";

/** The most bytes of a Unix socket's path. Systems allow 104 or 108, with a zero at the end. */
const LONGEST_NAME = 103;

/**
 * A path for a socket that the system accepts. A path that is too long is shortened through an open
 * descriptor of its folder, which works on Linux only.
 */
export class SocketName implements Disposable {
  readonly path: string;
  #folder: number | undefined;

  constructor(path: string) {
    if (Buffer.byteLength(path) <= LONGEST_NAME || process.platform !== "linux") {
      this.path = path;
      return;
    }
    this.#folder = openSync(dirname(path), "r");
    this.path = `/proc/self/fd/${this.#folder}/${basename(path)}`;
  }

  [Symbol.dispose](): void {
    if (this.#folder !== undefined) closeSync(this.#folder);
    this.#folder = undefined;
  }
}
