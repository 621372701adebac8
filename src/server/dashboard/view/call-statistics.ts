import { auditBackwards } from "../../../store/audit/audit-reader.ts";
import type { ToolCalls } from "../api.ts";

/** Minutes that are kept, calls whose times are kept for each tool, tools, and bytes read at first. */
const MINUTES = 24 * 60;
const MOST_TIMES = 500;
const MOST_TOOLS = 500;
const MOST_READ = 16 * 1024 * 1024;
const MINUTE = 60_000;

interface Minute {
  calls: number;
  errors: number;
  milliseconds: number;
}

interface ToolRecord {
  readonly minutes: Map<number, Minute>;
  /** When, and how many milliseconds; the newest are kept. */
  times: { readonly at: number; readonly took: number }[];
}

export type CallStatistics = ReturnType<typeof callStatistics>;

/**
 * How often tools were called, how long that took and how often it failed: counted from the audit, so
 * that the calls of all processes are in it and no call is delayed by counting.
 */
export function callStatistics(data: string, now: () => number = Date.now) {
  const tools = new Map<string, ToolRecord>();
  /** The newest entry that was counted. */
  let seen: string | undefined;
  let counting: Promise<void> | undefined;

  /** Calls of the last minutes, by tool. */
  async function read(minutes: number): Promise<ToolCalls[]> {
    counting ??= count().finally(() => (counting = undefined));
    await counting;
    const since = Math.floor(now() / MINUTE) - minutes;
    const found: ToolCalls[] = [];
    for (const [tool, { minutes: kept, times }] of tools) {
      const recent = [...kept].filter(([minute]) => minute > since).toSorted(([a], [b]) => a - b);
      if (recent.length === 0) continue;
      const took = times
        .filter((each) => each.at / MINUTE > since)
        .map((each) => each.took)
        .toSorted((a, b) => a - b);
      found.push({
        tool,
        calls: recent.reduce((sum, [, { calls }]) => sum + calls, 0),
        errors: recent.reduce((sum, [, { errors }]) => sum + errors, 0),
        p50: at(took, 0.5),
        p95: at(took, 0.95),
        series: recent.map(([minute, { calls, errors, milliseconds }]) => [
          minute,
          calls,
          errors,
          Math.round(milliseconds / calls),
        ]),
      });
    }
    return found.toSorted((a, b) => b.calls - a.calls);
  }

  /** Counts the entries since the last time. */
  async function count(): Promise<void> {
    const oldest = now() - MINUTES * MINUTE;
    let size = 0;
    let newest: string | undefined;
    const spent = (bytes: number): void => {
      size += bytes;
    };
    for await (const { place, entry } of auditBackwards(data, { spent })) {
      newest ??= place;
      if (place === seen || size > MOST_READ) break;
      const time = Date.parse(String(entry.time));
      if (time < oldest) break;
      if (typeof entry.tool === "string" && entry.outcome !== "begun") add(time, entry);
    }
    seen = newest ?? seen;
    forget(Math.floor(oldest / MINUTE));
  }

  function add(
    time: number,
    { tool, outcome, milliseconds }: Readonly<Record<string, unknown>>,
  ): void {
    const name = String(tool);
    if (!tools.has(name) && tools.size >= MOST_TOOLS) return;
    const known = tools.get(name) ?? { minutes: new Map<number, Minute>(), times: [] };
    tools.set(name, known);
    const minute = Math.floor(time / MINUTE);
    const sum = known.minutes.get(minute) ?? { calls: 0, errors: 0, milliseconds: 0 };
    known.minutes.set(minute, sum);
    const took = typeof milliseconds === "number" ? milliseconds : 0;
    sum.calls++;
    sum.milliseconds += took;
    if (outcome !== "ok") sum.errors++;
    known.times.push({ at: time, took });
    if (known.times.length <= 2 * MOST_TIMES) return;
    known.times = known.times.toSorted((a, b) => b.at - a.at).slice(0, MOST_TIMES);
  }

  function forget(minute: number): void {
    for (const [tool, { minutes }] of tools) {
      for (const old of minutes.keys()) if (old < minute) minutes.delete(old);
      if (minutes.size === 0) tools.delete(tool);
    }
  }

  return { read };
}

/** The value below which that part of the sorted values is. */
function at(sorted: readonly number[], part: number): number {
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
}
