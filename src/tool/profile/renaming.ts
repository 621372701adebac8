/**
 * Names that something has for a client. A new name belongs to the first that gets it: whatever else
 * has that name is not offered, so that a call can mean only one thing.
 */
export class Renaming {
  readonly #shown: ReadonlyMap<string, string>;
  readonly #real = new Map<string, string>();

  /** `rename` has the new names by the real ones. */
  constructor(rename: Readonly<Record<string, string>> = {}) {
    this.#shown = new Map(Object.entries(rename));
    for (const [real, shown] of this.#shown) {
      if (!this.#real.has(shown)) this.#real.set(shown, real);
    }
  }

  /** The name for the client. */
  shown(real: string): string {
    return this.#shown.get(real) ?? real;
  }

  /** What the client means by a name; undefined where that name is no more. */
  real(shown: string): string | undefined {
    return this.#real.get(shown) ?? (this.#shown.has(shown) ? undefined : shown);
  }

  /** Whether it is offered under any name. */
  isShown(real: string): boolean {
    return this.real(this.shown(real)) === real;
  }
}
