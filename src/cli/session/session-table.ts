import { readForeignId } from "../../session/foreign/foreign-sessions.ts";
import type { SessionRecord } from "../../store/session/session-record.ts";
import type { WorktreeState } from "../../worktree/branches.ts";
import { firstLine, table } from "../shell/layout.ts";

const LONGEST_TITLE = 40;
const HEADINGS = ["ID", "LAST USED", "STATE", "AGENT", "BRANCH", "TITLE", "FOLDER"];

function branchText({ branch, commits, uncommitted, isMissing }: WorktreeState): string {
  if (isMissing) return `${branch} (no folder)`;
  const parts = [
    ...(commits === 0 ? [] : [`+${commits}`]),
    ...(uncommitted === 0 ? [] : [`${uncommitted} changed`]),
  ];
  return parts.length === 0 ? branch : `${branch} (${parts.join(", ")})`;
}

/** A session, with whether it is open, or the state of a run that is not. */
export interface ListedSession extends SessionRecord {
  readonly state: "open" | "closed" | "hibernated" | "";
  readonly worktree?: WorktreeState | undefined;
}

/** One line per session. */
export function sessionTable(sessions: readonly ListedSession[], edge: number): string {
  const rows = sessions.map(({ id, agent, title, updated, cwd, state, worktree, notes }) => [
    // Ids of sessions that agents began themselves all begin alike.
    readForeignId(id) === undefined ? id.slice(0, 8) : id,
    new Date(updated).toISOString().slice(0, 16).replace("T", " "),
    state,
    agent,
    worktree === undefined ? "" : branchText(worktree),
    firstLine(title ?? "(no prompt yet)").slice(0, LONGEST_TITLE),
    runOf(notes)?.url ?? cwd,
  ]);
  // Most people have no session with a work tree, and no remote run.
  const used = HEADINGS.map((_, at) => rows.some((row) => row[at] !== ""));
  const shown = [HEADINGS, ...rows].map((row) => row.filter((_, at) => used[at]));
  return table(shown, Math.max(edge, 80));
}

/** The repository of a remote run; its folder, in the data folder, says nothing to a person. */
function runOf(notes: ListedSession["notes"]): { readonly url?: string } | undefined {
  return notes.run as { readonly url?: string } | undefined;
}
