import type { Readable } from "node:stream";

import type { Stop } from "../base/stop.ts";

/** A program that is run to its end. */
export interface ProgramRun {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** What it reads; nothing when left out. */
  readonly input?: string | Buffer | Readable;
  /** A secret that the program reads from descriptor 3; it is in no argument, variable or file. */
  readonly secret?: string | undefined;
  /** Open files that it inherits, as its descriptors from 3 on. They are closed here once it runs. */
  readonly files?: readonly number[] | undefined;
  /** Milliseconds after which it is killed with all that it started. */
  readonly timeout: number;
  /** Bytes it may write to stdout. */
  readonly maxOutput: number;
  /** Cancels the run: SIGTERM, then SIGKILL for it and everything it started. */
  readonly stop?: Stop | undefined;
  /** It starts no other program that could outlive it, so a shell may start it (program-shell.ts). */
  readonly isAlone?: boolean;
}

/** How a program ended that was run to its end. */
export interface ProgramEnd {
  /** Of a program that a shell started and a signal ended: 128 and the signal's number. */
  readonly code: number | NodeJS.Signals;
  readonly stdout: Buffer;
  /** The beginning of its stderr. */
  readonly stderr: string;
}

/** A program that was started. */
export interface RunningProgram {
  /** The number of its process group. */
  readonly group: number;
  /** Resolves when it has ended and all that it wrote is read. */
  readonly code: Promise<number | NodeJS.Signals>;
}

/** Bytes after a program's output: the mark of a shell, and an exit code of three digits. */
const CODE_LENGTH = 3;

/** What a program writes to one stream, up to a limit. */
export class ProgramOutput {
  readonly #most: number;
  readonly #tooMuch: () => void;
  /** What follows the output, where others share the stream. */
  readonly #mark: string;
  readonly #chunks: Buffer[] = [];
  #tail = Buffer.alloc(0);
  #length = 0;

  constructor(most: number, tooMuch: () => void, mark = "") {
    this.#most = most;
    this.#tooMuch = tooMuch;
    this.#mark = mark;
  }

  add(chunk: Buffer): void {
    const after = this.#mark === "" ? 0 : this.#mark.length + CODE_LENGTH;
    if (this.#length < this.#most) this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (after > 0)
      this.#tail = Buffer.concat([this.#tail, chunk.subarray(-after)]).subarray(-after);
    if (this.#length - after > this.#most) this.#tooMuch();
  }

  /** The exit code, once the mark is there. */
  get code(): number | undefined {
    const tail = this.#tail.toString("latin1");
    if (!tail.startsWith(this.#mark) || tail === "") return undefined;
    return Number(tail.slice(this.#mark.length));
  }

  get bytes(): Buffer {
    const length = this.#length - this.#tail.length;
    return Buffer.concat(this.#chunks).subarray(0, Math.min(length, this.#most));
  }
}
