import { FileText } from "../../src/review/anchor/file-text.ts";
import { LineMatcher } from "../../src/review/anchor/line-position.ts";
import { findThrough } from "./find-through.ts";
import type { Sample } from "./bench.ts";

/**
 * The fate of a line, numbered from 1. Both answers are acceptable for a `rewritten` line, its new
 * position with low confidence or gone; it is not scored, unless it is called exact. Nor is an
 * `undecided` one.
 */
export type Fate =
  | { readonly kind: "surviving" | "reformatted"; readonly line: number }
  | { readonly kind: "gone" | "rewritten" | "undecided" };

/** Counts how well lines with a known fate are followed. */
export class AnchorScore {
  readonly #counts = { surviving: 0, reformatted: 0, gone: 0, rewritten: 0, undecided: 0 };
  readonly #right = { ...this.#counts };
  #exact = 0;
  #wrongExact = 0;
  #misplaced = 0;
  #milliseconds = 0;

  /**
   * Comments on every line of the first text, and searches it in the last as the program does: in
   * these two texts and, if that is not certain, through those between them.
   */
  placeAll(texts: readonly (readonly string[])[], fates: readonly Fate[]): void {
    const [before = []] = texts;
    const [first = FileText.of([]), ...others] = texts.map((lines) => FileText.of(lines));
    const direct = new LineMatcher(first, others.at(-1) ?? first);
    const steps = others.map((text, at) => new LineMatcher(others[at - 1] ?? first, text));
    for (const [at, text] of before.entries()) {
      const fate = fates[at];
      // Nobody comments on an empty line or a brace.
      if (fate === undefined || !/[\p{L}\p{N}]/u.test(text)) continue;
      this.#counts[fate.kind]++;
      if (fate.kind === "undecided") continue;
      const began = performance.now();
      const found = direct.find(at, at);
      const position = found.confidence === "exact" ? found : findThrough(steps, at, at);
      this.#milliseconds += performance.now() - began;
      const isRight = position.line === ("line" in fate ? fate.line : undefined);
      if (isRight) this.#right[fate.kind]++;
      else if (fate.kind !== "rewritten" && position.line !== undefined) this.#misplaced++;
      if (position.confidence !== "exact") continue;
      this.#exact++;
      if (!isRight) this.#wrongExact++;
    }
  }

  get sample(): Sample {
    const { surviving, reformatted, rewritten, gone, undecided } = this.#counts;
    const right = this.#right;
    const share = (some: number, of: number): number => (100 * some) / Math.max(1, of);
    const decided = surviving + reformatted + rewritten + gone;
    return {
      lines: decided,
      surviving: share(right.surviving + right.reformatted, surviving + reformatted),
      reformatted: share(right.reformatted, reformatted),
      reformattedLines: reformatted,
      gone: share(right.gone, gone),
      goneLines: gone,
      rewrittenLines: rewritten,
      undecided,
      misplaced: this.#misplaced,
      exact: this.#exact,
      wrongExact: this.#wrongExact,
      time: (1000 * this.#milliseconds) / Math.max(1, decided),
    };
  }
}
