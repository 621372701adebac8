import { GONE, type Place, Placing } from "./place.ts";

/**
 * Follows lines through the versions of a text, one after the other. Little changes from one to the
 * next, so lines that are like others are told apart which the first and the last alone could not.
 */
export class Versions {
  readonly #steps: readonly Placing[];

  /** The oldest text first. */
  constructor(texts: readonly (readonly string[])[]) {
    this.#steps = texts.slice(1).map((text, index) => new Placing(texts[index] ?? [], text));
  }

  /** `first` and `last` count from 0. */
  place(first: number, last: number): Place {
    let [line, end] = [first + 1, last + 1];
    let method: Place["method"] = "diff";
    for (const step of this.#steps) {
      const place = step.place(line - 1, end - 1);
      if (place.line === undefined) return GONE;
      ({ line, end = line } = place);
      if (place.method === "fuzzy" || (place.method === "quote" && method === "diff")) {
        method = place.method;
      }
    }
    return { line, end, confidence: method === "fuzzy" ? "low" : "high", method };
  }
}
