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

/**
 * How often tools were called, how long that took and how often it failed: counted from the audit, so
 * that the calls of all processes are in it and no call is delayed by counting.
 */
export class CallStatistics {
  readonly #data: string;
  readonly #now: () => number;
  readonly #tools = new Map<string, ToolRecord>();
  /** The newest entry that was counted. */
  #seen: string | undefined;
  #counting: Promise<void> | undefined;

  constructor(data: string, now: () => number = Date.now) {
    this.#data = data;
    this.#now = now;
  }

  /** Calls of the last minutes, by tool. */
  async read(minutes: number): Promise<ToolCalls[]> {
    this.#counting ??= this.#count().finally(() => (this.#counting = undefined));
    await this.#counting;
    const since = Math.floor(this.#now() / MINUTE) - minutes;
    const found: ToolCalls[] = [];
    for (const [tool, { minutes: kept, times }] of this.#tools) {
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
  async #count(): Promise<void> {
    const oldest = this.#now() - MINUTES * MINUTE;
    let read = 0;
    let newest: string | undefined;
    const spent = (bytes: number): void => {
      read += bytes;
    };
    for await (const { place, entry } of auditBackwards(this.#data, { spent })) {
      newest ??= place;
      if (place === this.#seen || read > MOST_READ) break;
      const time = Date.parse(String(entry.time));
      if (time < oldest) break;
      if (typeof entry.tool === "string" && entry.outcome !== "begun") this.#add(time, entry);
    }
    this.#seen = newest ?? this.#seen;
    this.#forget(Math.floor(oldest / MINUTE));
  }

  #add(time: number, { tool, outcome, milliseconds }: Readonly<Record<string, unknown>>): void {
    const name = String(tool);
    if (!this.#tools.has(name) && this.#tools.size >= MOST_TOOLS) return;
    const known = this.#tools.get(name) ?? { minutes: new Map<number, Minute>(), times: [] };
    this.#tools.set(name, known);
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

  #forget(minute: number): void {
    for (const [tool, { minutes }] of this.#tools) {
      for (const old of minutes.keys()) if (old < minute) minutes.delete(old);
      if (minutes.size === 0) this.#tools.delete(tool);
    }
  }
}

/** The value below which that part of the sorted values is. */
function at(sorted: readonly number[], part: number): number {
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
}
