import { LineTracer } from "./line-tracer.ts";
import type { WorkHistory } from "./work-history.ts";

export interface LineCount {
  readonly agents: readonly {
    readonly agent: string;
    readonly model?: string;
    readonly lines: number;
  }[];
  /** Lines that no agent is known to have written. */
  readonly people: number;
  readonly files: number;
}

/** Counts the lines of the tracked text files of a folder by who wrote them. */
export async function countLines(history: WorkHistory, folder: string): Promise<LineCount> {
  const { worked, all } = await history.files(folder);
  const tracer = new LineTracer(history);
  const counts = new Map<string, { agent: string; model?: string; lines: number }>();
  let ofAgents = 0;
  for (const path of worked) {
    for (const { step } of await tracer.trace(path)) {
      if (step.by !== "agent") continue;
      const { agent = "an agent", model } = step;
      const key = `${agent}\0${model ?? ""}`;
      const named = model === undefined ? { agent } : { agent, model };
      const count = counts.getOrInsertComputed(key, () => ({ ...named, lines: 0 }));
      count.lines++;
      ofAgents++;
    }
  }
  const agents = [...counts.values()].toSorted((a, b) => b.lines - a.lines);
  let lines = 0;
  for (const { count } of all) lines += count;
  return { agents, people: Math.max(0, lines - ofAgents), files: all.length };
}
