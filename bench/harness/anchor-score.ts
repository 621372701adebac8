import { LineMatcher, VersionMatcher } from "../../src/review/anchor/line-position.ts";
import type { Sample } from "./bench.ts";

/** The fate of a line, numbered from 1. `undecided` lines are not scored, but their number is reported. */
export type Fate =
  | { readonly kind: "surviving" | "rewritten"; readonly line: number }
  | { readonly kind: "gone" | "undecided" };

/** Counts how well lines with a known fate are followed. */
export class AnchorScore {
  readonly #counts = { surviving: 0, rewritten: 0, gone: 0, undecided: 0 };
  readonly #right = { surviving: 0, rewritten: 0, gone: 0 };
  #rewrittenGone = 0;
  #exact = 0;
  #wrongExact = 0;
  #misplaced = 0;
  #milliseconds = 0;

  /**
   * Comments on every line of the first text, and searches it in the last as the program does: in
   * these two texts and, if the result is uncertain, in those between them.
   */
  placeAll(texts: readonly (readonly string[])[], fateOf: (at: number) => Fate): void {
    const before = texts[0] ?? [];
    const direct = new LineMatcher(before, texts.at(-1) ?? []);
    const versions = new VersionMatcher(texts);
    for (const [at, text] of before.entries()) {
      // Nobody comments on an empty line or a brace.
      if (!/[\p{L}\p{N}]/u.test(text)) continue;
      const fate = fateOf(at);
      this.#counts[fate.kind]++;
      if (fate.kind === "undecided") continue;
      const began = performance.now();
      const first = direct.find(at, at);
      const position = first.confidence === "exact" ? first : versions.find(at, at);
      this.#milliseconds += performance.now() - began;
      const isRight = position.line === ("line" in fate ? fate.line : undefined);
      if (isRight) this.#right[fate.kind]++;
      else if (position.line !== undefined) this.#misplaced++;
      else if (fate.kind === "rewritten") this.#rewrittenGone++;
      if (position.confidence !== "exact") continue;
      this.#exact++;
      if (!isRight) this.#wrongExact++;
    }
  }

  get sample(): Sample {
    const { surviving, rewritten, gone, undecided } = this.#counts;
    const right = this.#right;
    const share = (some: number, of: number): number => (100 * some) / Math.max(1, of);
    return {
      lines: surviving + rewritten + gone,
      surviving: share(right.surviving, surviving),
      gone: share(right.gone, gone),
      rewritten: share(right.rewritten, rewritten),
      asSurviving: share(right.surviving + right.rewritten, surviving + rewritten),
      asGone: share(right.gone + this.#rewrittenGone, gone + rewritten),
      goneLines: gone,
      rewrittenLines: rewritten,
      undecided,
      misplaced: this.#misplaced,
      exact: this.#exact,
      wrongExact: this.#wrongExact,
      time: (1000 * this.#milliseconds) / Math.max(1, surviving + rewritten + gone),
    };
  }
}
