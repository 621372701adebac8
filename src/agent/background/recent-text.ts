/** Keeps the end of a text that may never end, and how much of it was read. */
export class RecentText {
  readonly #most: number;
  #text = "";
  /** Characters before the kept text. */
  #dropped = 0;
  /** Characters of the whole text that were read. */
  #read = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get hasNews(): boolean {
    return this.#read < this.#dropped + this.#text.length;
  }

  add(text: string): void {
    this.#text += text;
    // Trimmed rarely, since it copies.
    if (this.#text.length > this.#most * 2) this.#trim();
  }

  /** What was added since the last call. */
  take(): string {
    this.#trim();
    const missed = Math.max(0, this.#dropped - this.#read);
    const text = this.#text.slice(Math.max(0, this.#read - this.#dropped));
    this.#read = this.#dropped + this.#text.length;
    return missed === 0 ? text : `(${missed} characters were dropped.)\n${text}`;
  }

  #trim(): void {
    const over = this.#text.length - this.#most;
    if (over <= 0) return;
    this.#dropped += over;
    this.#text = this.#text.slice(over);
  }
}
