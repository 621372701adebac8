import type { Database } from "../database.ts";

/** An "always" answer of a person to a permission request, for one subject in one folder. */
export interface PermissionRule {
  readonly id: number;
  readonly workspace: string;
  /** The key of the subject: JSON with its parts in the order of their names. */
  readonly subject: string;
  readonly decision: "allow" | "reject";
  readonly created: number;
  /** Id of the session in which it was given. */
  readonly session: string;
  readonly by: string;
  /** Id of the principal that answered, to whom alone the rule applies; empty for the owner. */
  readonly principal: string;
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

/** Migration: gives existing rules to the owners of their sessions. */
export const RULES_OF_PRINCIPALS = `
   ALTER TABLE permission_rule ADD COLUMN principal TEXT NOT NULL DEFAULT '';

   UPDATE permission_rule SET principal = coalesce(
     (SELECT json_extract(session.notes, '$.owner') FROM session
      WHERE session.uuid = permission_rule.session), '');

   DROP INDEX permission_rule_in_force;

   CREATE UNIQUE INDEX permission_rule_in_force ON permission_rule (principal, workspace, subject)
   WHERE revoked IS NULL;`;

/**
 * Migration: a subject was a joined text, which could read like that of another command. Such rules are
 * revoked, so that agents ask once more.
 */
export const RULES_OF_SUBJECTS = `
   UPDATE permission_rule SET revoked = CAST(strftime('%s', 'now') AS INTEGER) * 1000
   WHERE revoked IS NULL;`;

const COLUMNS = "id, workspace, subject, decision, created, session, said_by AS by, principal";

/** The remembered permissions. Revoked rules stay in the table. */
export class SessionRules {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  find(workspace: string, subject: string, principal: string): Promise<PermissionRule | undefined> {
    return this.#database.read((database) => {
      const row = database
        .prepare(
          `SELECT ${COLUMNS} FROM permission_rule
           WHERE principal = ? AND workspace = ? AND subject = ? AND revoked IS NULL`,
        )
        .get(principal, workspace, subject);
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

  /** Adds a rule, which replaces an earlier one. */
  async add(rule: Omit<PermissionRule, "id" | "created">): Promise<void> {
    const { workspace, subject, decision, session, by, principal } = rule;
    await this.#database.change((database) => {
      const now = Date.now();
      database
        .prepare(
          `UPDATE permission_rule SET revoked = ?
           WHERE principal = ? AND workspace = ? AND subject = ? AND revoked IS NULL`,
        )
        .run(now, principal, workspace, subject);
      database
        .prepare(
          `INSERT INTO permission_rule
             (workspace, subject, decision, created, session, said_by, principal)
           VALUES (?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(workspace, subject, decision, now, session, by, principal);
    });
  }

  /** Revokes a rule. Whether it existed. */
  revoke(id: number): Promise<boolean> {
    return this.#database.change((database) => {
      const { changes } = database
        .prepare("UPDATE permission_rule SET revoked = ? WHERE id = ? AND revoked IS NULL")
        .run(Date.now(), id);
      return Number(changes) > 0;
    });
  }
}
