import type { PermissionRule } from "../../session/store.ts";
import { type Row, Tables } from "../database.ts";
import { sql } from "../sql.ts";

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

/** The remembered permissions. Revoked rules stay in the table. */
export class SessionRules extends Tables {
  async find(
    workspace: string,
    subject: string,
    principal: string,
  ): Promise<PermissionRule | undefined> {
    const row = await this.database.get`SELECT * FROM permission_rule
      WHERE principal = ${principal} AND workspace = ${workspace} AND subject = ${subject}
      AND revoked IS NULL`;
    return row && ruleOf(row);
  }

  async list(workspace: string | null = null): Promise<PermissionRule[]> {
    const rows = await this.database.all`SELECT * FROM permission_rule WHERE revoked IS NULL
      AND (${workspace} IS NULL OR workspace = ${workspace}) ORDER BY workspace, subject`;
    return rows.map(ruleOf);
  }

  /** Adds a rule, which replaces an earlier one. */
  async add(rule: Omit<PermissionRule, "id" | "created">): Promise<void> {
    const { workspace, subject, decision, session, by, principal } = rule;
    await this.database.change((database) => {
      const now = Date.now();
      sql(database).run`UPDATE permission_rule SET revoked = ${now} WHERE principal = ${principal}
        AND workspace = ${workspace} AND subject = ${subject} AND revoked IS NULL`;
      sql(database).run`INSERT INTO permission_rule
        (workspace, subject, decision, created, session, said_by, principal)
        VALUES (${workspace}, ${subject}, ${decision}, ${now}, ${session}, ${by}, ${principal})`;
    });
  }

  /** Revokes a rule. Whether it existed. */
  revoke(id: number): Promise<boolean> {
    return this.database.run`UPDATE permission_rule SET revoked = ${Date.now()}
      WHERE id = ${id} AND revoked IS NULL`;
  }
}

function ruleOf(row: Row): PermissionRule {
  const { said_by: by, revoked: _, ...rule } = row;
  return { ...rule, by } as unknown as PermissionRule;
}
