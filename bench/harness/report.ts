import type { Comparison, Plan, Quantity, Sample, Skipped } from "./bench.ts";
import { type Spread, spreadOf } from "./spread.ts";

export interface Measured {
  readonly name: string;
  readonly quantities: Readonly<Record<string, Spread>>;
}

export interface Figure extends Comparison {
  readonly ratio: Spread;
  /** True if there is no target. */
  readonly isMet: boolean;
}

/** The results of a bench. */
export interface Report {
  readonly bench: string;
  readonly describe: string;
  readonly rounds: number;
  readonly quantities: readonly Quantity[];
  readonly variants: readonly Measured[];
  readonly figures: readonly Figure[];
  readonly skipped: readonly Skipped[];
}

export function reportOf(bench: string, plan: Plan, samples: Map<string, Sample[]>): Report {
  const { describe, rounds, quantities, comparisons, skipped = [] } = plan;
  const isMeasured = ({ of, against = of }: Comparison) => samples.has(of) && samples.has(against);
  return {
    bench,
    describe,
    rounds,
    quantities,
    variants: [...samples].map(([name, all]) => ({
      name,
      quantities: Object.fromEntries(
        quantities.map(({ key }) => [key, spreadOf(valuesOf(all, key))]),
      ),
    })),
    figures: comparisons.filter(isMeasured).map((comparison) => figureOf(comparison, samples)),
    skipped,
  };
}

/** The ratio is computed within each round, in which conditions were the same for both. */
function figureOf(comparison: Comparison, samples: Map<string, Sample[]>): Figure {
  const { quantity, of, against, atMost = Infinity, atLeast = 0 } = comparison;
  const dividends = valuesOf(samples.get(of) ?? [], quantity);
  const divisors = against === undefined ? [] : valuesOf(samples.get(against) ?? [], quantity);
  const divisorOf = (round: number): number =>
    against === undefined ? 1 : (divisors[round] ?? NaN);
  const ratios = dividends.map((value, round) => value / divisorOf(round));
  const ratio = spreadOf(ratios);
  return { ...comparison, ratio, isMet: ratio.median <= atMost && ratio.median >= atLeast };
}

function valuesOf(samples: readonly Sample[], key: string): number[] {
  return samples.map((sample) => sample[key] ?? NaN);
}
