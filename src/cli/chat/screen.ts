import { ERASE_LINE, paint } from "../shell/style.ts";

export interface ScreenOptions {
  readonly out: (text: string) => void;
  /** Whether there is a status line. */
  readonly isTerminal: boolean;
  readonly color: boolean;
  readonly width: () => number;
}

/** What is printed, with a status line below it that is never left behind. */
export class Screen {
  readonly #options: ScreenOptions;
  #isAtStart = true;
  #isStatusShown = false;

  constructor(options: ScreenOptions) {
    this.#options = options;
  }

  print(text: string): void {
    if (text === "") return;
    this.clearStatus();
    this.#isAtStart = text.endsWith("\n");
    this.#options.out(text);
  }

  /** Shows the status, unless a line is being written. */
  status(text: string): void {
    const { out, isTerminal, color, width } = this.#options;
    if (!isTerminal || !this.#isAtStart) return;
    // One column stays free: some terminals begin a new line when the last one is filled.
    const cut = Array.from(text)
      .slice(0, Math.max(0, width() - 1))
      .join("");
    out(`${this.#isStatusShown ? ERASE_LINE : ""}${paint("dim", cut, color)}`);
    this.#isStatusShown = true;
  }

  clearStatus(): void {
    if (!this.#isStatusShown) return;
    this.#isStatusShown = false;
    this.#options.out(ERASE_LINE);
  }
}
