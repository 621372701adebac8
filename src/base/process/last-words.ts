/** What Node ends with when an error ends it. */
const FOOTER = /^Node\.js v\d/;
const ERROR = /^(?:Uncaught )?\w*Error\b/;

/** The line on a child's stderr that tells most of why it ended: its last, or the error above it. */
export class LastWords {
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
