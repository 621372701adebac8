import { type Attestation, canBeNoted, noteText } from "./git-ai-note.ts";
import { LineTracer } from "./line-tracer.ts";
import type { WorkHistory } from "./work-history.ts";

/** The ids of commits with and without a new note. */
export interface WrittenNotes {
  readonly written: string[];
  /** Commits that had a note of another program already. */
  readonly kept: string[];
}

/** Writes a note for each commit since the person's yes that has lines which are certainly an agent's. */
export async function writeNotes(history: WorkHistory): Promise<WrittenNotes> {
  const notes: WrittenNotes = { written: [], kept: [] };
  const commits = (await history.commitsToNote()).filter((each) => !history.unnoted.has(each));
  const worked = commits.length === 0 ? new Set<string>() : await history.worked();
  for (const commit of commits) {
    const { author, note } = await history.commit(commit);
    // To trace its lines again would keep the next turn waiting.
    const found = note === "" ? await attestationsOf(history, commit, worked) : undefined;
    if (found === undefined) notes.kept.push(commit);
    if (found?.length === 0) history.unnoted.add(commit);
    if (found === undefined || found.length === 0) continue;
    const isNew = await history.note(commit, noteText(commit, author, found));
    notes[isNew ? "written" : "kept"].push(commit);
  }
  return notes;
}

async function attestationsOf(
  history: WorkHistory,
  commit: string,
  worked: ReadonlySet<string>,
): Promise<Attestation[]> {
  const now = await history.now(commit);
  if (now === undefined) return [];
  const tracer = new LineTracer(history);
  const found: Attestation[] = [];
  for (const path of await history.changedIn(commit)) {
    if (!worked.has(path) || !canBeNoted(path)) continue;
    const own = (await history.blameCommit(commit, path)).map((each) => each.commit === commit);
    const lines = (await tracer.trace(path, { commit, now })).map((each, at) => {
      return { ...each, line: at + 1 };
    });
    // The note leaves out lines from earlier commits, and lines that others may have written.
    const its = lines.filter(({ step, certain, line }) => {
      return own[line - 1] === true && certain && step.by === "agent" && step.session !== undefined;
    });
    const edits = Map.groupBy(its, ({ step }) => `${step.session} ${step.turn} ${step.call}`);
    for (const [first, ...rest] of edits.values()) {
      if (first === undefined) continue;
      found.push({ path, step: first.step, lines: [first, ...rest].map(({ line }) => line) });
    }
  }
  return found;
}
