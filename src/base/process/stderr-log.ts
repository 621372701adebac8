import { LastWords } from "./last-words.ts";
import type { Log } from "../log.ts";
import { maskText } from "../text/mask.ts";

const KEPT = 40;
const LONGEST = 1_000;
/** Lines that reach the log in a window; the others are only counted. */
const MOST = 100;
const WINDOW = 10_000;

/** What a child says on stderr: the last of it for whoever asks, a bounded part for the log. */
export class StderrLog {
  readonly #log: Log;
  readonly #kind: string;
  readonly #tail: string[] = [];
  readonly #words = new LastWords();
  #windowEnds = 0;
  #logged = 0;
  #left = 0;

  /** `kind` is what the child is to us, as events name it: "upstream". */
  constructor(log: Log, kind: string) {
    this.#log = log;
    this.#kind = kind;
  }

  get tail(): readonly string[] {
    return this.#tail.map(maskText);
  }

  /** The one line to tell when it has ended. */
  get last(): string | undefined {
    const { line } = this.#words;
    return line === undefined ? undefined : maskText(line);
  }

  /** Who says more than anybody reads costs little: secrets are masked where a line is shown. */
  add(line: string): void {
    const kept = line.slice(0, LONGEST);
    this.#words.add(kept);
    this.#tail.push(kept);
    if (this.#tail.length > KEPT) this.#tail.shift();
    const now = performance.now();
    if (now > this.#windowEnds) {
      if (this.#left > 0) this.#log.info(`${this.#kind}.said-more`, { lines: this.#left });
      this.#windowEnds = now + WINDOW;
      this.#logged = 0;
      this.#left = 0;
    }
    if (this.#logged < MOST) this.#log.info(`${this.#kind}.said`, { line: maskText(kept) });
    else this.#left++;
    this.#logged++;
  }
}
