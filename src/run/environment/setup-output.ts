import { createWriteStream, type WriteStream } from "node:fs";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { stripVTControlCharacters } from "node:util";

import { Throttle } from "../../base/limit/rate-limiter.ts";
import { maskWhole } from "../../base/text/mask.ts";
import { visibleLine } from "../../base/text/visible.ts";

export interface SetupOutputOptions {
  /** The path of the log. */
  readonly path: string;
  /** Called with some of the lines as they come. */
  readonly tell: (line: string) => void;
  /** Milliseconds between two calls of `tell`. */
  readonly tellEvery?: number;
  /** The most bytes of the log. */
  readonly most?: number;
}

const TELL_EVERY = 2_000;
const MOST = 4 * 1024 * 1024;
const TAIL = 20;
const LONGEST_LINE = 300;
/** The most characters of an unfinished line that are buffered. */
const LONGEST_REST = 64 * 1024;
/** Characters that stay buffered then: more than any secret has. */
const KEPT = 16 * 1024;
/** Programs show progress by returning to the start of the line. */
const LINE_END = /\r?\n|\r/;

/** The output of a set-up, line by line, with secrets masked. */
export class SetupOutput implements AsyncDisposable {
  readonly path: string;
  readonly #options: SetupOutputOptions;
  readonly #file: WriteStream;
  readonly #throttle: Throttle;
  readonly #tail: string[] = [];
  #written = 0;
  /** Why the log could not be written. Set-up continues without it. */
  #problem: Error | undefined;

  constructor(options: SetupOutputOptions) {
    this.path = options.path;
    this.#options = options;
    this.#file = createWriteStream(options.path, { mode: 0o600 });
    this.#file.on("error", (error) => (this.#problem = error));
    const rate = { limit: 1, windowMs: options.tellEvery ?? TELL_EVERY };
    this.#throttle = new Throttle(rate);
  }

  /** Reads lines from a stream until it ends. */
  take(stream: Readable): Promise<void> {
    let rest = "";
    stream.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split(LINE_END);
      rest = lines.pop() ?? "";
      for (const line of lines) this.line(line);
      if (rest.length < LONGEST_REST) return;
      // A secret may be cut at the end. That part stays buffered until the rest has come.
      const masked = maskWhole(rest);
      this.line(masked.slice(0, -KEPT));
      rest = masked.slice(-KEPT);
    });
    return new Promise((resolve) => {
      stream.on("error", () => {});
      stream.on("close", () => {
        if (rest !== "") this.line(rest);
        resolve();
      });
    });
  }

  /** The last lines. */
  get tail(): readonly string[] {
    return this.#tail;
  }

  line(text: string): void {
    const { tell, most = MOST } = this.#options;
    const line = maskWhole(text);
    const shown = visibleLine(stripVTControlCharacters(line).trim()).slice(0, LONGEST_LINE);
    if (shown !== "") {
      this.#tail.push(shown);
      if (this.#tail.length > TAIL) this.#tail.shift();
      if (this.#throttle.take() !== undefined) tell(shown);
    }
    const bytes = Buffer.byteLength(line) + 1;
    const hadRoom = this.#written <= most;
    this.#written += bytes;
    if (this.#written <= most) this.#file.write(`${line}\n`);
    else if (hadRoom) this.#file.write(`(The log ends here: it is over ${most} bytes.)\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#file.end();
    if (this.#problem === undefined && !this.#file.closed) {
      await once(this.#file, "close").catch(() => {});
    }
  }
}
