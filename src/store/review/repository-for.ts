import type { DatabaseSync } from "node:sqlite";

import type { KnownRepository } from "./review-thread.ts";
import { prepared } from "./reviews-rows.ts";

interface Row {
  readonly id: number;
  readonly gitDir: string;
  readonly remotes: readonly string[];
  readonly firstCommit: string | undefined;
}

/**
 * The row id of a repository of another machine. It is one that is here if both have the same first
 * commit and a remote in common, or the same folder; otherwise it is added.
 */
export function repositoryFor(database: DatabaseSync, foreign: KnownRepository): number {
  const rows = prepared(
    database,
    "SELECT id, git_dir, remotes, first_commit FROM repository ORDER BY id",
  )
    .all()
    .map((row) => ({
      id: Number(row.id),
      gitDir: String(row.git_dir),
      remotes: JSON.parse(String(row.remotes)) as string[],
      firstCommit: (row.first_commit as string | null) ?? undefined,
    }));
  const same =
    rows.find((row) => row.gitDir === foreign.gitDir && !areOthers(row, foreign)) ??
    rows.find((row) => isSameHistory(row, foreign));
  if (same !== undefined) return same.id;
  const isTaken = rows.some(({ gitDir }) => gitDir === foreign.gitDir);
  const { gitDir, root, remotes, firstCommit } = foreign;
  const { lastInsertRowid } = prepared(
    database,
    "INSERT INTO repository (git_dir, root, remotes, first_commit) VALUES (?, ?, ?, ?)",
  ).run(
    isTaken ? elsewhere(foreign, rows) : gitDir,
    root,
    JSON.stringify(remotes),
    firstCommit ?? null,
  );
  return Number(lastInsertRowid);
}

/** Two machines have different repositories in folders of the same name. */
function areOthers(one: Row, other: KnownRepository): boolean {
  const isKnown = one.remotes.length > 0 && other.remotes.length > 0;
  return isKnown && !haveRemoteInCommon(one, other);
}

/** Forks have the same first commit, but other remotes. */
function isSameHistory(one: Row, other: KnownRepository): boolean {
  const { firstCommit = "" } = one;
  return firstCommit !== "" && firstCommit === other.firstCommit && haveRemoteInCommon(one, other);
}

function haveRemoteInCommon(one: Row, other: KnownRepository): boolean {
  return one.remotes.some((address) => other.remotes.includes(address));
}

/** A folder that is not on this machine, named for the first remote. */
function elsewhere({ gitDir, remotes }: KnownRepository, rows: readonly Row[]): string {
  for (let number = 1; ; number++) {
    const name = `${remotes[0] ?? ""}#${number}:${gitDir}`;
    if (!rows.some((row) => row.gitDir === name)) return name;
  }
}
