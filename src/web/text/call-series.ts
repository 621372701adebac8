import type { ToolCalls } from "../../gateway/dashboard/api.ts";

/** Calls, errors and mean latency of all tools, minute by minute, as uPlot wants them: by column. */
export type CallSeries = [minutes: number[], calls: number[], errors: number[], mean: (number | null)[]];

/** Minutes without calls have none, so that a chart does not draw a line across them. */
export function callSeries(rows: readonly Pick<ToolCalls, "series">[], until: number, minutes = 60): CallSeries {
  const last = Math.floor(until / 60_000);
  const columns: CallSeries = [[], [], [], []];
  const sums = new Map<number, [calls: number, errors: number, time: number]>();
  for (const { series } of rows) {
    for (const [minute, calls, errors, mean] of series) {
      const [c, e, t] = sums.get(minute) ?? [0, 0, 0];
      sums.set(minute, [c + calls, e + errors, t + calls * mean]);
    }
  }
  for (let minute = last - minutes + 1; minute <= last; minute++) {
    const [calls, errors, time] = sums.get(minute) ?? [0, 0, 0];
    columns[0].push(minute * 60);
    columns[1].push(calls);
    columns[2].push(errors);
    columns[3].push(calls === 0 ? null : time / calls);
  }
  return columns;
}
