import { hash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";

import type { Database } from "../../store/database.ts";
import type { PermissionRule } from "../../store/session/session-rules.ts";
import {
  type Decide,
  rowText,
  type SharedKind,
  type SharedRows,
  type SharedText,
} from "./shared-kind.ts";

/** A rule without its number, which every node has its own for. */
type SharedRule = Omit<PermissionRule, "id">;

/** The remembered permissions that are in force: one for each principal, folder and subject. */
export class RuleKind implements SharedKind {
  readonly name = "rule";
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  stamp(): Promise<unknown> {
    return this.#database.read((database) => versionOf(database));
  }

  async read(): Promise<SharedRows> {
    const rules = await this.#database.read(inForce);
    return { rows: new Map([...rules].map(([key, rule]) => [key, textOf(rule)])), isWhole: true };
  }

  change(keys: readonly string[], decide: Decide): Promise<ReadonlyMap<string, SharedText>> {
    return this.#database.change((database) => {
      const rules = inForce(database);
      for (const key of keys) {
        const local = rules.get(key);
        const before = local && textOf(local);
        const next = decide(key, before);
        if (next === before) continue;
        const rule = next === undefined ? undefined : readRule(next);
        // A rule of a newer version, which this one does not understand, permits nothing here.
        if (next !== undefined && (rule === undefined || keyOf(rule) !== key)) continue;
        revoke(database, local);
        if (rule !== undefined) insert(database, rule);
      }
      const after = inForce(database);
      return new Map(
        keys.map((key) => {
          const rule = after.get(key);
          return [key, rule && textOf(rule)];
        }),
      );
    });
  }

  /** Of two answers that were given at the same time, the one that permits less. */
  merge(local: SharedText, shared: SharedText): SharedText {
    return permits(local) < permits(shared) ? local : shared;
  }
}

/** Changes with every commit of another connection to the database. */
export function versionOf(database: DatabaseSync): number {
  return Number(database.prepare("PRAGMA data_version").get()?.data_version);
}

function inForce(database: DatabaseSync): Map<string, PermissionRule> {
  const rows = database
    .prepare(
      `SELECT id, workspace, subject, decision, created, session, said_by AS "by", principal
       FROM permission_rule WHERE revoked IS NULL`,
    )
    .all() as unknown as PermissionRule[];
  return new Map(rows.map((rule) => [keyOf(rule), rule]));
}

function revoke(database: DatabaseSync, rule: PermissionRule | undefined): void {
  if (rule === undefined) return;
  database.prepare("UPDATE permission_rule SET revoked = ? WHERE id = ?").run(Date.now(), rule.id);
}

function insert(database: DatabaseSync, rule: SharedRule): void {
  const { workspace, subject, decision, created, session, by, principal } = rule;
  database
    .prepare(
      `INSERT INTO permission_rule
         (workspace, subject, decision, created, session, said_by, principal)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(workspace, subject, decision, created, session, by, principal);
}

function keyOf({ principal, workspace, subject }: SharedRule): string {
  return hash("sha256", JSON.stringify([principal, workspace, subject])).slice(0, 32);
}

function textOf(rule: PermissionRule): string {
  return rowText({ ...rule, id: undefined });
}

function readRule(text: string): SharedRule | undefined {
  try {
    const rule = JSON.parse(text) as Record<string, unknown>;
    const { decision, created, ...texts } = rule;
    const isRule =
      (decision === "allow" || decision === "reject") &&
      Number.isSafeInteger(created) &&
      TEXTS.every((name) => typeof texts[name] === "string");
    return isRule ? (rule as unknown as SharedRule) : undefined;
  } catch {
    return undefined;
  }
}

const TEXTS = ["workspace", "subject", "session", "by", "principal"];

/** 0 for a rejection, 1 where a person is asked, 2 for a permission. */
function permits(text: SharedText): number {
  const decision = text === undefined ? undefined : readRule(text)?.decision;
  return decision === undefined ? 1 : decision === "reject" ? 0 : 2;
}
