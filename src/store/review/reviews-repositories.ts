import type { DatabaseSync } from "node:sqlite";

import type { KnownRepository, Repository } from "./review-thread.ts";

/** All repositories with threads, the last used first. */
export function knownRepositories(database: DatabaseSync): KnownRepository[] {
  return database
    .prepare("SELECT git_dir, root, first_commit, remotes FROM repository ORDER BY id DESC")
    .all()
    .map((row) => ({
      gitDir: String(row.git_dir),
      root: String(row.root),
      remotes: JSON.parse(String(row.remotes)) as string[],
      firstCommit: (row.first_commit as string | null) ?? undefined,
    }));
}

/** Records the first commit of a repository: the empty text if it has none. */
export function setFirstCommit(database: DatabaseSync, gitDir: string, commit: string): void {
  database.prepare("UPDATE repository SET first_commit = ? WHERE git_dir = ?").run(commit, gitDir);
}

/** Commits that comments of a repository were made on, the newest comments first. */
export function commentedCommits(database: DatabaseSync, gitDir: string, limit: number): string[] {
  return database
    .prepare(
      `SELECT DISTINCT anchor ->> 'commit' AS made_on FROM thread
       JOIN repository ON repository.id = thread.repository
       WHERE git_dir = ? AND made_on IS NOT NULL ORDER BY opened DESC LIMIT ?`,
    )
    .all(gitDir, limit)
    .map((row) => String(row.made_on));
}

/** Gives the threads of a repository that was moved to where it is now. */
export function moveRepository(database: DatabaseSync, from: string, to: Repository): void {
  database
    .prepare("UPDATE OR IGNORE repository SET git_dir = ?, root = ? WHERE git_dir = ?")
    .run(to.gitDir, to.root, from);
}
