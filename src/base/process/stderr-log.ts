import { Throttle } from "../limit/rate-limiter.ts";
import type { Log } from "../log.ts";
import { HELD, maskText } from "../text/mask.ts";

/** Lines that are kept to be shown, and characters of each. */
const KEPT = 40;
const LONGEST = 1_000;
/** Lines that are logged in a window; the others are only counted. */
const LOGGED = { limit: 100, windowMs: 10_000 };

/** The stderr of a child: its last lines can be read, and a bounded number of lines is logged. */
export class StderrLog {
  readonly #log: Log;
  readonly #kind: string;
  readonly #tail: string[] = [];
  readonly #words = new LastStderrLine();
  readonly #throttle = new Throttle(LOGGED);

  /** `kind` is what the child is to us, as events name it: "upstream". */
  constructor(log: Log, kind: string) {
    this.#log = log;
    this.#kind = kind;
  }

  get tail(): readonly string[] {
    return this.#tail.map(shown);
  }

  /** The one line to tell when it has ended. */
  get last(): string | undefined {
    const { line } = this.#words;
    return line === undefined ? undefined : shown(line);
  }

  /** Masks secrets only when a line is shown: most lines of a talkative child never are. */
  add(line: string): void {
    // More than is shown, so that no half of a secret is at its end.
    const kept = line.slice(0, LONGEST + HELD.longest);
    this.#words.add(kept);
    this.#tail.push(kept);
    if (this.#tail.length > KEPT) this.#tail.shift();
    const lines = this.#throttle.take();
    if (lines === undefined) return;
    if (lines > 0) this.#log.info(`${this.#kind}.said-more`, { lines });
    this.#log.info(`${this.#kind}.said`, { line: shown(kept) });
  }
}

function shown(line: string): string {
  return maskText(line).slice(0, LONGEST);
}

/** What Node and npm end with when an error ends them. */
const FOOTER = /^(?:Node\.js v\d|npm error A complete log)/;
/** An error of Node, or the line in which npm says what it could not get. Its advice is no error. */
const ERROR = /^(?:(?:Uncaught )?\w*Error\b|npm error (?:request|\d{3} [A-Z]\w+ (?!that)))/;

/** The line on a child's stderr that tells most of why it ended: its last, or the error above it. */
export class LastStderrLine {
  #last: string | undefined;
  #error: string | undefined;

  add(line: string): void {
    this.#last = line;
    if (ERROR.test(line)) this.#error = line;
  }

  get line(): string | undefined {
    return this.#last !== undefined && FOOTER.test(this.#last)
      ? (this.#error ?? this.#last)
      : this.#last;
  }
}
