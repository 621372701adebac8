/** The result of one measurement of a variant, by the key of each quantity. */
export type Sample = Readonly<Record<string, number>>;

export interface Quantity {
  readonly key: string;
  readonly label: string;
  readonly unit: string;
  readonly digits: number;
}

/** One of the programs that are compared. */
export interface Variant {
  readonly name: string;
  /** Measures once, in a separate process. Throws if an answer is wrong. */
  readonly measure: () => Promise<Sample>;
}

/** A variant that cannot be measured here. */
export interface Skipped {
  readonly name: string;
  readonly reason: string;
}

/** A figure: the ratio of a quantity between two variants; or, alone, the quantity of one variant. */
export interface Comparison {
  /** What is compared, in words of a user: the figure's row in the table of limits. */
  readonly row?: string;
  /** The same ratio of programs that people use instead, as it was measured before. */
  readonly peers?: string;
  readonly quantity: string;
  readonly of: string;
  readonly against?: string;
  /** The baseline that is shown beside a quantity that is limited alone. */
  readonly beside?: string;
  readonly atMost?: number;
  readonly atLeast?: number;
}

export interface Plan {
  /** One line: what is done, with what. */
  readonly describe: string;
  readonly rounds: number;
  readonly quantities: readonly Quantity[];
  readonly variants: readonly Variant[];
  readonly skipped?: readonly Skipped[];
  readonly comparisons: readonly Comparison[];
  /** Ends what was started for all variants. */
  readonly end?: () => Promise<void>;
}

export interface BenchOptions {
  /** Fewer rounds and messages: shows that the bench works; the figures are not reliable. */
  readonly quick: boolean;
  /** Do not install anything. */
  readonly offline: boolean;
  /** A folder with an earlier program, which was built. */
  readonly before?: string | undefined;
}

export interface Bench {
  readonly name: string;
  readonly plan: (options: BenchOptions) => Promise<Plan>;
}
