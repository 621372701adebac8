import type { DatabaseSync, SQLOutputValue } from "node:sqlite";

import { isClaimed, type Moment } from "./reviews-rows.ts";
import type { ThreadFilter } from "./reviews-threads.ts";
import type { Repository, Severity, Side, ThreadState } from "./review-thread.ts";

/** As much of a thread as fits on a line of a list. */
export interface BriefThread {
  readonly id: string;
  readonly state: ThreadState;
  readonly severity: Severity;
  /** Its beginning. */
  readonly comment: string;
  readonly repository: Repository;
  readonly path: string;
  readonly side: Side;
  readonly line: number | undefined;
  readonly end: number | undefined;
  readonly blob: string | undefined;
  readonly commit: string | undefined;
  /** The order of threads. */
  readonly opened: number;
}

/** Characters of a comment: more than a terminal is wide. */
const BEGINNING = 1_000;

const COLUMNS = `id, state, severity, substr(comment, 1, ${BEGINNING}), repository, path, side, line,
  last_line, blob, made_on, state_before, lease, holder, opened`;

/**
 * Threads in the order they were opened, briefly: a list may have ten thousand, and a person waits. Rows
 * are arrays, which cost half as much as objects.
 */
export function listBriefly(
  database: DatabaseSync,
  { gitDir, states }: Pick<ThreadFilter, "gitDir" | "states">,
  { now, holder }: Moment,
): BriefThread[] {
  const repositories = repositoriesOf(database, gitDir);
  const wanted = states === undefined ? undefined : new Set<unknown>(states);
  const threads: BriefThread[] = [];
  // Without the index, and sorted below: reading the rows in another order than they are in takes longer.
  const where = gitDir === undefined ? "true" : "+repository = ?";
  const query = database.prepare(`SELECT ${COLUMNS} FROM thread WHERE ${where}`);
  query.setReturnArrays(true);
  const given = gitDir === undefined ? [] : [...repositories.keys()];
  if (gitDir !== undefined && given.length === 0) return [];
  // With arrays, the types of Node still say objects.
  for (const row of query.iterate(...given) as unknown as Iterable<SQLOutputValue[]>) {
    // By index: destructuring an array runs its iterator, ten thousand times.
    const stored = row[1];
    const isLapsed =
      stored === "claimed" && !(Number(row[12]) > now && isClaimed(String(row[13]), holder));
    const state = (isLapsed ? row[11] : stored) as ThreadState;
    if (wanted !== undefined && !wanted.has(state)) continue;
    const repository = repositories.get(row[4] as number);
    if (repository === undefined) continue;
    threads.push({
      id: row[0] as string,
      state,
      severity: row[2] as Severity,
      comment: row[3] as string,
      repository,
      path: row[5] as string,
      side: row[6] as Side,
      line: (row[7] as number | null) ?? undefined,
      end: (row[8] as number | null) ?? undefined,
      blob: (row[9] as string | null) ?? undefined,
      commit: (row[10] as string | null) ?? undefined,
      opened: row[14] as number,
    });
  }
  return threads.toSorted((one, other) => one.opened - other.opened);
}

function repositoriesOf(database: DatabaseSync, gitDir?: string): Map<number, Repository> {
  const rows = database
    .prepare("SELECT id, git_dir, root FROM repository WHERE ?1 IS NULL OR git_dir = ?1")
    .all(gitDir ?? null);
  return new Map(
    rows.map((row) => [Number(row.id), { gitDir: String(row.git_dir), root: String(row.root) }]),
  );
}

/** Which of these texts are stored: without its text, a comment is found by its quoted lines. */
export function storedTexts(database: DatabaseSync, blobs: readonly string[]): Set<string> {
  const query = database.prepare("SELECT 1 FROM text WHERE blob = ?");
  return new Set(blobs.filter((blob) => query.get(blob) !== undefined));
}
