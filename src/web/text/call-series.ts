import type { ToolCalls } from "../../server/dashboard/api.ts";

/** One minute of all tools. */
export interface CallMinute {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly calls: number;
  readonly errors: number;
  /** Mean milliseconds; undefined where there was no call. */
  readonly mean: number | undefined;
}

/** The calls of all tools, minute by minute, also of minutes without calls. */
export function callSeries(
  rows: readonly Pick<ToolCalls, "series">[],
  until: number,
  minutes = 60,
): CallMinute[] {
  const sums = new Map<number, { calls: number; errors: number; time: number }>();
  for (const [minute, calls, errors, mean] of rows.flatMap(({ series }) => series)) {
    const sum = sums.get(minute) ?? { calls: 0, errors: 0, time: 0 };
    sum.calls += calls;
    sum.errors += errors;
    sum.time += calls * mean;
    sums.set(minute, sum);
  }
  const last = Math.floor(until / 60_000);
  return Array.from({ length: minutes }, (_, index) => {
    const minute = last - minutes + 1 + index;
    const { calls = 0, errors = 0, time = 0 } = sums.get(minute) ?? {};
    return { at: minute * 60_000, calls, errors, mean: calls === 0 ? undefined : time / calls };
  });
}

/** The next round number: 1, 2 or 5 times a power of ten. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}
