/** A limit that cannot be configured, but that a user can reach. */
export interface FixedLimit {
  readonly part: string;
  readonly what: string;
  readonly unit: "bytes" | "milliseconds" | "count";
  readonly value: number;
  /** What happens beyond it. */
  readonly beyond: string;
  /** The folder of src/, a file anywhere in it, and the constant there; a test checks its value. */
  readonly folder: string;
  readonly file: string;
  readonly constant: string;
}

/** A limit in the order of the table in fixed-limits.ts. */
export type Row = readonly [
  what: string,
  unit: FixedLimit["unit"],
  value: number,
  beyond: string,
  folderAndFile: `${string}: ${string}.ts`,
  constant: string,
];
