import { SeededRandom } from "../../support/seeded-random.ts";

/** Decides what happens next in a run of the model. */
export interface Choices {
  /** A whole number from 0 to below `end`. */
  below(end: number): number;
  /** The place of one of the weights. The larger it is, the more often it is chosen by chance. */
  weighted(...weights: readonly number[]): number;
}

/** Decides by chance that can be repeated. */
export class RandomChoices implements Choices {
  readonly #random: SeededRandom;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
  }

  below(end: number): number {
    return this.#random.below(end);
  }

  weighted(...weights: readonly number[]): number {
    const sum = weights.reduce((all, weight) => all + weight, 0);
    let rest = this.#random.below(sum);
    return weights.findIndex((weight) => (rest -= weight) < 0);
  }
}

/**
 * Goes through all decisions, one after the other: each run decides as the one before up to its last
 * decision that could still be another. After `depth` decisions a run always decides for the first.
 */
export class AllChoices implements Choices {
  readonly #depth: number;
  readonly #made: { chosen: number; readonly end: number }[] = [];
  #at = 0;

  constructor(depth: number) {
    this.#depth = depth;
  }

  below(end: number): number {
    if (end <= 1 || this.#at >= this.#depth) return 0;
    this.#made[this.#at] ??= { chosen: 0, end };
    return this.#made[this.#at++]?.chosen ?? 0;
  }

  weighted(...weights: readonly number[]): number {
    return this.below(weights.length);
  }

  /** Prepares the next run. Returns false if there is none. */
  next(): boolean {
    this.#at = 0;
    for (;;) {
      const last = this.#made.at(-1);
      if (last === undefined) return false;
      if (++last.chosen < last.end) return true;
      this.#made.pop();
    }
  }
}
