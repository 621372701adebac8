import { LineTracer } from "./line-tracer.ts";
import type { WorkHistory } from "./work-history.ts";

/** How many lines somebody wrote: an agent with a model, or a person, by the author of the commit. */
export interface LineShare {
  readonly agent?: string;
  readonly model?: string | undefined;
  readonly name?: string;
  lines: number;
  /** How many of these lines are certainly theirs. */
  certain: number;
}

/** Counts the lines of the tracked text files of a folder by who wrote them, the most first. */
export async function countLines(
  history: WorkHistory,
  folder: string,
): Promise<{ agents: LineShare[]; people: LineShare[]; files: number }> {
  const { all, worked } = await history.files(folder);
  const now = await history.now();
  const shares = new Map<string, LineShare>();
  for (const path of all) {
    const tree = (worked.has(path) && now) || null;
    const lines = await new LineTracer(history).trace(path, { now: tree });
    for (const { step, commit, certain } of lines) {
      const { by, agent = "an agent", model } = step;
      const author = commit === undefined ? "not committed" : (await history.commit(commit)).author;
      const who = by === "agent" ? { agent, model } : { name: by === "unknown" ? by : author };
      const key = JSON.stringify(who);
      const share = shares.getOrInsertComputed(key, () => ({ ...who, lines: 0, certain: 0 }));
      share.lines++;
      if (certain) share.certain++;
    }
  }
  const sorted = [...shares.values()].toSorted((a, b) => b.lines - a.lines);
  const agents = sorted.filter(({ agent }) => agent !== undefined);
  return { agents, people: sorted.filter(({ name }) => name !== undefined), files: all.length };
}
