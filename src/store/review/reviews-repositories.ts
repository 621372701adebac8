import type { DatabaseSync } from "node:sqlite";

import { type Row, Tables } from "../database.ts";
import type { KnownRepository, Repository } from "./review-thread.ts";
import { sql } from "../sql.ts";

/** The repositories that have threads. */
export class Repositories extends Tables {
  /** All of them, the newest first. */
  async list(): Promise<KnownRepository[]> {
    return (await this.database.all`SELECT * FROM repository ORDER BY id DESC`).map(repositoryOf);
  }

  /** Commits that comments of a repository were made on, those of the newest comments first. */
  async commentedCommits(gitDir: string, limit: number): Promise<string[]> {
    const rows = await this.database.all`SELECT DISTINCT anchor ->> 'commit' AS made_on FROM thread
      JOIN repository ON repository.id = thread.repository
      WHERE git_dir = ${gitDir} AND made_on IS NOT NULL ORDER BY opened DESC LIMIT ${limit}`;
    return rows.map((row) => String(row.made_on));
  }

  /** Records the first commit of a repository: the empty text if it has none. */
  async setFirstCommit(gitDir: string, commit: string): Promise<void> {
    await this.database
      .run`UPDATE repository SET first_commit = ${commit} WHERE git_dir = ${gitDir}`;
  }

  /** The repository that was at a git folder is somewhere else now. */
  async move(from: string, to: Repository): Promise<void> {
    await this.database.run`UPDATE OR IGNORE repository
      SET git_dir = ${to.gitDir}, root = ${to.root} WHERE git_dir = ${from}`;
  }
}

export function repositoryOf(row: Row): KnownRepository {
  return {
    gitDir: String(row.git_dir),
    root: String(row.root),
    remotes: JSON.parse(String(row.remotes)) as string[],
    ...(row.first_commit === null ? {} : { firstCommit: String(row.first_commit) }),
  };
}

/**
 * The row id for a repository of another machine. It is the same as a local one if both have the same
 * first commit and a common remote, or the same folder; otherwise a row is added.
 */
export function repositoryFor(database: DatabaseSync, foreign: KnownRepository): number {
  const rows = sql(database).all`SELECT * FROM repository ORDER BY id`.map((row) => ({
    id: Number(row.id),
    ...repositoryOf(row),
  }));
  const same =
    rows.find((row) => row.gitDir === foreign.gitDir && !areOthers(row, foreign)) ??
    rows.find((row) => isSameHistory(row, foreign));
  if (same !== undefined) return same.id;
  const isTaken = rows.some(({ gitDir }) => gitDir === foreign.gitDir);
  const { root, remotes, firstCommit = null } = foreign;
  const gitDir = isTaken ? elsewhere(foreign, rows) : foreign.gitDir;
  const { lastInsertRowid } = sql(database).run`INSERT INTO repository (git_dir, root, remotes,
    first_commit) VALUES (${gitDir}, ${root}, ${JSON.stringify(remotes)}, ${firstCommit})`;
  return Number(lastInsertRowid);
}

/** Two machines have different repositories in folders of the same name. */
function areOthers(one: KnownRepository, other: KnownRepository): boolean {
  return one.remotes.length > 0 && other.remotes.length > 0 && !haveRemoteInCommon(one, other);
}

/** Forks have the same first commit, but other remotes. */
function isSameHistory(one: KnownRepository, other: KnownRepository): boolean {
  const { firstCommit = "" } = one;
  return firstCommit !== "" && firstCommit === other.firstCommit && haveRemoteInCommon(one, other);
}

function haveRemoteInCommon(one: KnownRepository, other: KnownRepository): boolean {
  return one.remotes.some((address) => other.remotes.includes(address));
}

/** A folder that is not on this machine, named for the first remote. */
function elsewhere({ gitDir, remotes }: KnownRepository, rows: readonly KnownRepository[]): string {
  for (let number = 1; ; number++) {
    const name = `${remotes[0] ?? ""}#${number}:${gitDir}`;
    if (!rows.some((row) => row.gitDir === name)) return name;
  }
}
