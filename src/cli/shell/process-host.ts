import { writeSync } from "node:fs";

import { aboutToSend } from "../../base/event-loop.ts";
import type { Host, Output } from "./host.ts";

type Listener = (error: NodeJS.ErrnoException) => void;

/**
 * An output of this process that is made a stream only where it has to be: what a short command
 * prints is out before the code of streams would be loaded.
 */
export class PlainOutput implements Output {
  readonly #fd: number;
  readonly #open: () => Output;
  readonly #listeners: Listener[] = [];
  #stream: Output | undefined;

  constructor(fd: number, open: () => Output) {
    this.#fd = fd;
    this.#open = open;
  }

  get isTTY(): boolean {
    return this.#opened.isTTY === true;
  }

  get columns(): number | undefined {
    return this.#opened.columns;
  }

  on(event: "error", listener: Listener): void {
    this.#listeners.push(listener);
    this.#stream?.on(event, listener);
  }

  write(text: string | Uint8Array): void {
    aboutToSend();
    if (this.#stream !== undefined) {
      this.#stream.write(text);
      return;
    }
    let rest = typeof text === "string" ? Buffer.from(text) : text;
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#fd, rest));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // A stream waits until there is room, and tells of all else.
      if (code !== "EPIPE") this.#opened.write(rest);
      else for (const listener of this.#listeners) listener(error as NodeJS.ErrnoException);
    }
  }

  get #opened(): Output {
    if (this.#stream === undefined) {
      this.#stream = this.#open();
      for (const listener of this.#listeners) this.#stream.on("error", listener);
    }
    return this.#stream;
  }
}

/** This process. */
export const processHost: Host = {
  env: process.env,
  stdout: new PlainOutput(1, () => process.stdout),
  stderr: new PlainOutput(2, () => process.stderr),
  cwd: () => process.cwd(),
  exit: (code) => process.exit(code),
};

/** A timer cannot be set further away. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Runs this process's command. The process lives until the command has ended, also while nothing is
 * open that would keep it alive, such as when input is not read and only unreferenced timers run.
 */
export async function runProcess(
  run: (args: readonly string[], host: Host) => Promise<number>,
): Promise<void> {
  const alive = setInterval(() => {}, LONGEST_TIMER);
  try {
    // Not process.exit(): what is still being written must arrive.
    process.exitCode = await run(process.argv.slice(2), processHost);
  } finally {
    clearInterval(alive);
  }
}
