import { fstatSync, statSync, writeSync } from "node:fs";

import { TrunklineError } from "../../base/errors.ts";
import { aboutToSend } from "../../base/event-loop.ts";

/** The parts of a process that the program uses, so that tests can replace them. */
export interface Host {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: Output;
  readonly stderr: Output;
  cwd(): string;
  exit(code: number): void;
  /** Nothing goes on that the command has begun: the process may end with it. */
  leftNothing?(): void;
}

export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number | undefined;
  write(text: string | Uint8Array): unknown;
  on(event: "error", listener: (error: NodeJS.ErrnoException) => void): unknown;
}

export function isVerbose(env: NodeJS.ProcessEnv): boolean {
  return isOn(env.TRUNKLINE_VERBOSE) || isOn(env.REMOTE_JUGGLER_VERBOSE);
}

/**
 * Writes to one output, and calls `failed` if that fails. The output is opened with the first write:
 * a command that speaks a protocol on it handles failures itself.
 */
export function writer(
  output: () => Output,
  failed: (error: NodeJS.ErrnoException) => void,
): (text: string) => void {
  let opened: Output | undefined;
  return (text) => {
    if (opened === undefined) {
      opened = output();
      opened.on("error", failed);
    }
    opened.write(text);
  };
}

export function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}

export function isOn(value: string | undefined): boolean {
  return isSet(value) && value !== "0" && value !== "false";
}

type Listener = (error: NodeJS.ErrnoException) => void;

/**
 * An output of this process that becomes a stream only if it has to: a short command is faster if it
 * does not load Node's streams.
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
    return this.#mayBeTerminal && this.#opened.isTTY === true;
  }

  get columns(): number | undefined {
    return this.#mayBeTerminal ? this.#opened.columns : undefined;
  }

  /** Whether nothing more is to be heard of what was written, such as that the disk is full. */
  get isDone(): boolean {
    return this.#stream === undefined || this.#stream.isTTY === true;
  }

  on(event: "error", listener: Listener): void {
    this.#listeners.push(listener);
    this.#stream?.on(event, listener);
  }

  write(text: string | Uint8Array): void {
    aboutToSend(1);
    if (this.#stream !== undefined) {
      this.#stream.write(text);
      return;
    }
    let rest = typeof text === "string" ? Buffer.from(text) : text;
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#fd, rest));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // For example EAGAIN: a stream waits until there is room, and reports every other error.
      if (code !== "EPIPE") this.#opened.write(rest);
      else for (const listener of this.#listeners) listener(error as NodeJS.ErrnoException);
    }
  }

  /** A pipe or a file is none, and neither is the null device: then its stream need not be asked. */
  get #mayBeTerminal(): boolean {
    if (this.#stream !== undefined) return true;
    try {
      const found = fstatSync(this.#fd);
      const nowhere = statSync("/dev/null", { throwIfNoEntry: false });
      return found.isCharacterDevice() && found.rdev !== nowhere?.rdev;
    } catch {
      return true;
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

const stdout = new PlainOutput(1, () => process.stdout);
const stderr = new PlainOutput(2, () => process.stderr);
let isNothingLeft = false;

/** This process. */
export const processHost: Host = {
  env: process.env,
  stdout,
  stderr,
  cwd: currentFolder,
  exit: (code) => process.exit(code),
  leftNothing() {
    isNothingLeft = true;
  },
};

function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    const next = "Change to a folder that is there, such as with `cd`, and run it again";
    throw new TrunklineError("config", `The folder that this runs in was deleted. ${next}.`);
  }
}

/** The longest delay of a timer, in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Runs this process's command. A timer keeps the process alive until the command has ended, also
 * while no open handle would, such as when input is not read and only unreferenced timers run.
 */
export async function runProcess(
  run: (args: readonly string[], host: Host) => Promise<number>,
): Promise<void> {
  const alive = setInterval(() => {}, LONGEST_TIMER);
  try {
    // Not yet process.exit(): pending writes must finish.
    process.exitCode = await run(process.argv.slice(2), processHost);
  } finally {
    clearInterval(alive);
  }
  // After what was promised already.
  if (isNothingLeft) process.nextTick(exitIfIdle);
}

/**
 * Ends the process at once: in another turn of the event loop V8 would first collect the garbage that the
 * command has left, which for a long list takes a tenth of all time. Only after a command that says that
 * it leaves nothing: Node does not tell of files that are being written, nor of rejections.
 */
function exitIfIdle(): void {
  if (!stdout.isDone || !stderr.isDone) return;
  // An open terminal does not keep it alive; what is being written to one does, and has its own name.
  if (process.getActiveResourcesInfo().every((name) => name === "TTYWrap")) process.exit();
}
