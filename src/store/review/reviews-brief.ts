import type { DatabaseSync, SQLOutputValue } from "node:sqlite";

import { fromKept, isClaimed, type Moment } from "./reviews-rows.ts";
import type { ThreadFilter } from "./reviews-threads.ts";
import type { Repository, Severity, Side, ThreadState } from "./review-thread.ts";

/** Where a thread was opened. Threads of one version of a file share it. */
export interface BriefPlace {
  readonly repository: Repository;
  readonly path: string;
  readonly side: Side;
  readonly blob: string | undefined;
  readonly commit: string | undefined;
}

/** As much of a thread as fits on a line of a list. */
export interface BriefThread {
  readonly id: string;
  readonly state: ThreadState;
  readonly severity: Severity;
  /** Its beginning. */
  readonly comment: string;
  readonly place: BriefPlace;
  readonly line: number | undefined;
  readonly end: number | undefined;
  /** The order of threads. */
  readonly opened: number;
}

/** Characters of a comment: more than a terminal is wide. */
const BEGINNING = 1_000;

/** Texts that are asked for at once. */
const MANY = 50;

/** Between fields that are one column. Only a path can contain it, and is the last of them. */
const SEPARATOR = "\x1f";

/**
 * Each value of a row costs as much as reading it, so what many threads have in common is one value,
 * which is taken apart once.
 */
const COLUMNS = `id, opened, line, last_line, substr(comment, 1, ${BEGINNING}),
  concat_ws(char(31), state, severity, repository, coalesce(side, ''), coalesce(blob, ''),
    coalesce(made_on, ''), path),
  CASE state WHEN 'claimed' THEN json_array(state_before, lease, holder) END`;

/** What many threads have in common. */
interface Common {
  readonly state: ThreadState;
  readonly severity: Severity;
  /** Undefined if it is in a repository that is not wanted. */
  readonly place: BriefPlace | undefined;
}

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
  const commons = new Map<string, Common>();
  const places = new Map<string, BriefPlace | undefined>();
  // With arrays, the types of Node still say objects.
  for (const row of query.iterate(...given) as unknown as Iterable<SQLOutputValue[]>) {
    // By index: destructuring an array runs its iterator, ten thousand times.
    const key = row[5] as string;
    let common = commons.get(key);
    if (common === undefined) {
      common = commonOf(key, repositories, places);
      commons.set(key, common);
    }
    const claim = row[6] as string | null;
    const state = claim === null ? common.state : claimedState(claim, now, holder);
    if (common.place === undefined || (wanted !== undefined && !wanted.has(state))) continue;
    threads.push({
      id: row[0] as string,
      state,
      severity: common.severity,
      comment: row[4] as string,
      place: common.place,
      line: (row[2] as number | null) ?? undefined,
      end: (row[3] as number | null) ?? undefined,
      opened: row[1] as number,
    });
  }
  return threads.toSorted((one, other) => one.opened - other.opened);
}

function commonOf(
  key: string,
  repositories: ReadonlyMap<number, Repository>,
  places: Map<string, BriefPlace | undefined>,
): Common {
  const [state = "", severity = "", id, side, blob, commit, ...path] = key.split(SEPARATOR);
  const common = { state: state as ThreadState, severity: severity as Severity };
  // The threads of a place are not all in one state.
  const which = key.slice(state.length + severity.length + 2 * SEPARATOR.length);
  if (!places.has(which)) {
    const repository = repositories.get(Number(id));
    places.set(
      which,
      repository && {
        repository,
        path: path.join(SEPARATOR),
        side: side as Side,
        blob: blob || undefined,
        commit: commit || undefined,
      },
    );
  }
  return { ...common, place: places.get(which) };
}

/** The state of a claimed thread: a claim ends with its lease, and with the process that has it. */
function claimedState(claim: string, now: number, holder: Moment["holder"]): ThreadState {
  const [before, lease, by] = JSON.parse(claim) as [ThreadState, number | null, string | null];
  return Number(lease) > now && isClaimed(String(by), holder) ? "claimed" : before;
}

function repositoriesOf(database: DatabaseSync, gitDir?: string): Map<number, Repository> {
  const rows = database
    .prepare("SELECT id, git_dir, root FROM repository WHERE ?1 IS NULL OR git_dir = ?1")
    .all(gitDir ?? null);
  return new Map(
    rows.map((row) => [Number(row.id), { gitDir: String(row.git_dir), root: String(row.root) }]),
  );
}

/** The texts that are stored of these: without its text, a comment is found by its quoted lines. */
export function storedTexts(
  database: DatabaseSync,
  blobs: readonly string[],
): Map<string, Uint8Array> {
  // To find a row, SQLite reads the whole texts that it compares on its way, so many are found faster by
  // reading all ids in order.
  const column = blobs.length < MANY ? "blob" : "+blob";
  const query = database.prepare(
    `SELECT blob, content FROM text WHERE ${column} IN (SELECT value FROM json_each(?))`,
  );
  query.setReturnArrays(true);
  const rows = query.all(JSON.stringify(blobs)) as unknown as [string, Uint8Array][];
  return new Map(rows.map(([blob, content]) => [blob, fromKept(content)]));
}
