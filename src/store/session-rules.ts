import type { Database } from "./database.ts";

/** What a person said once and for all about something that agents do in a folder. */
export interface PermissionRule {
  readonly id: number;
  readonly workspace: string;
  readonly subject: string;
  readonly decision: "allow" | "reject";
  readonly created: number;
  /** Where it was said. */
  readonly session: string;
  readonly by: string;
}

export const RULES = `CREATE TABLE permission_rule (
     id INTEGER PRIMARY KEY,
     workspace TEXT NOT NULL,
     subject TEXT NOT NULL,
     decision TEXT NOT NULL CHECK (decision IN ('allow', 'reject')),
     created INTEGER NOT NULL,
     session TEXT NOT NULL,
     said_by TEXT NOT NULL,
     revoked INTEGER
   ) STRICT;

   CREATE UNIQUE INDEX permission_rule_in_force ON permission_rule (workspace, subject)
   WHERE revoked IS NULL;`;

const COLUMNS = "id, workspace, subject, decision, created, session, said_by AS by";

/** The permissions that are remembered. One that is revoked stays on record. */
export class SessionRules {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  find(workspace: string, subject: string): Promise<PermissionRule | undefined> {
    return this.#database.read((database) => {
      const row = database
        .prepare(
          `SELECT ${COLUMNS} FROM permission_rule
           WHERE workspace = ? AND subject = ? AND revoked IS NULL`,
        )
        .get(workspace, subject);
      return row as PermissionRule | undefined;
    });
  }

  list(workspace?: string): Promise<PermissionRule[]> {
    return this.#database.read((database) => {
      const rows = database
        .prepare(
          `SELECT ${COLUMNS} FROM permission_rule
           WHERE revoked IS NULL AND (?1 IS NULL OR workspace = ?1) ORDER BY workspace, subject`,
        )
        .all(workspace ?? null);
      return rows as unknown as PermissionRule[];
    });
  }

  /** The last word counts. */
  async add(rule: Omit<PermissionRule, "id" | "created">): Promise<void> {
    const { workspace, subject, decision, session, by } = rule;
    await this.#database.change((database) => {
      const now = Date.now();
      database
        .prepare(
          `UPDATE permission_rule SET revoked = ?
           WHERE workspace = ? AND subject = ? AND revoked IS NULL`,
        )
        .run(now, workspace, subject);
      database
        .prepare(
          `INSERT INTO permission_rule (workspace, subject, decision, created, session, said_by)
           VALUES (?, ?, ?, ?, ?, ?)`,
        )
        .run(workspace, subject, decision, now, session, by);
    });
  }

  /** Whether there was such a rule. */
  revoke(id: number): Promise<boolean> {
    return this.#database.change((database) => {
      const { changes } = database
        .prepare("UPDATE permission_rule SET revoked = ? WHERE id = ? AND revoked IS NULL")
        .run(Date.now(), id);
      return Number(changes) > 0;
    });
  }
}
