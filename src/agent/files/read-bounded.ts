import type { OwnedChild } from "../../base/process/child-process.ts";
import { readOutput } from "../../base/process/read-output.ts";
import { Countdown } from "../tools/countdown.ts";

export interface ReadBoundedOptions {
  readonly signal?: AbortSignal;
  /** Characters that are kept: a quarter of the beginning, the rest of the end. */
  readonly most: number;
  /** Milliseconds after which the child is killed. */
  readonly timeout?: number;
  /** Called with the output so far, and with what was added. */
  readonly heard?: ((output: BoundedText, added: string) => void) | undefined;
  /** Called with a function that pauses the timeout while some work runs. */
  readonly pauses?: ((pausedWhile: Countdown["pausedWhile"]) => void) | undefined;
}

/**
 * Reads the output of a child until it exits. On a timeout or an abort the child is killed with
 * all processes that it started; on an abort this rejects with the reason.
 */
export async function readBounded(
  child: OwnedChild,
  { signal, most, timeout, heard, pauses }: ReadBoundedOptions,
) {
  const output = new BoundedText(most);
  let isLate = false;
  using countdown = new Countdown(timeout ?? 2 ** 31 - 1, () => {
    isLate = true;
    child.kill();
  });
  pauses?.((work) => countdown.pausedWhile(work));
  const take = (text: string): void => {
    output.add(text);
    heard?.(output, text);
  };
  const exit = await readOutput(child, take, signal);
  return { text: output.settle().text, exit, isCut: output.isCut, isLate };
}

/** Keeps the beginning and the end of a text of any length, which may never end. */
export class BoundedText {
  readonly #most: number;
  #head = "";
  #tail = "";
  #cut = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get isCut(): boolean {
    return this.#cut > 0;
  }

  get isEmpty(): boolean {
    return this.#head === "";
  }

  get text(): string {
    if (this.#cut === 0) return this.#head + this.#tail;
    return `${this.#head}\n… (${this.#cut} characters left out) …\n${this.#tail}`;
  }

  add(text: string): void {
    const room = Math.floor(this.#most / 4) - this.#head.length;
    if (room > 0) this.#head += text.slice(0, room);
    this.#tail += room > 0 ? text.slice(room) : text;
    const most = this.#most - Math.floor(this.#most / 4);
    // Trimmed rarely, since it copies.
    if (this.#tail.length <= most * 2) return;
    this.#trim(most);
  }

  /** Trims the text to its limit. */
  settle(): this {
    this.#trim(this.#most - Math.floor(this.#most / 4));
    return this;
  }

  /** What was added since the last call. */
  take(): string {
    const { text } = this.settle();
    this.#head = this.#tail = "";
    this.#cut = 0;
    return text;
  }

  #trim(most: number): void {
    const over = this.#tail.length - most;
    if (over <= 0) return;
    this.#cut += over;
    this.#tail = this.#tail.slice(over);
  }
}
