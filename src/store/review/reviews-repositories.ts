import type { Database } from "../database.ts";
import type { KnownRepository, Repository } from "./review-thread.ts";

/** The repositories that have threads. */
export class Repositories {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** All of them, the newest first. */
  list(): Promise<KnownRepository[]> {
    return this.#database.read((database) =>
      database
        .prepare("SELECT git_dir, root, first_commit, remotes FROM repository ORDER BY id DESC")
        .all()
        .map((row) => ({
          gitDir: String(row.git_dir),
          root: String(row.root),
          remotes: JSON.parse(String(row.remotes)) as string[],
          firstCommit: (row.first_commit as string | null) ?? undefined,
        })),
    );
  }

  /** Commits that comments of a repository were made on, those of the newest comments first. */
  commentedCommits(gitDir: string, limit: number): Promise<string[]> {
    return this.#database.read((database) =>
      database
        .prepare(
          `SELECT DISTINCT anchor ->> 'commit' AS made_on FROM thread
           JOIN repository ON repository.id = thread.repository
           WHERE git_dir = ? AND made_on IS NOT NULL ORDER BY opened DESC LIMIT ?`,
        )
        .all(gitDir, limit)
        .map((row) => String(row.made_on)),
    );
  }

  /** Records the first commit of a repository: the empty text if it has none. */
  async setFirstCommit(gitDir: string, commit: string): Promise<void> {
    await this.#database.change((database) => {
      database
        .prepare("UPDATE repository SET first_commit = ? WHERE git_dir = ?")
        .run(commit, gitDir);
    });
  }

  /** The repository that was at a git folder is somewhere else now. */
  async move(from: string, to: Repository): Promise<void> {
    await this.#database.change((database) => {
      database
        .prepare("UPDATE OR IGNORE repository SET git_dir = ?, root = ? WHERE git_dir = ?")
        .run(to.gitDir, to.root, from);
    });
  }
}
