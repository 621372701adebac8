import { createHash, hash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { objectIn } from "../../base/check.ts";
import { fromKept } from "../../store/review/reviews-rows.ts";
import type { PermissionRule } from "../../session/store.ts";
import { DatabaseKind, rowText, type SharedRows, type SharedText } from "./shared-base.ts";

/** A rule without its number, which differs between nodes. */
type SharedRule = Omit<PermissionRule, "id">;

/** The remembered permissions that are in force: one for each principal, folder and subject. */
export class RuleKind extends DatabaseKind {
  readonly name = "rule";

  async read(): Promise<SharedRows> {
    const rules = await this.database.read(inForce);
    return { rows: new Map([...rules].map(([key, rule]) => [key, textOf(rule)])), isWhole: true };
  }

  protected override find(database: DatabaseSync, key: string): SharedText {
    const rule = inForce(database).get(key);
    return rule && textOf(rule);
  }

  protected override write(database: DatabaseSync, key: string, next: SharedText): void {
    const rule = next === undefined ? undefined : readRule(next);
    // A rule of a newer version, which this one does not understand, permits nothing here.
    if (next !== undefined && (rule === undefined || keyOf(rule) !== key)) return;
    revoke(database, inForce(database).get(key));
    if (rule !== undefined) insert(database, rule);
  }

  /** Of two answers that were given at the same time, the one that permits less. */
  merge(local: SharedText, shared: SharedText): SharedText {
    return permits(local) < permits(shared) ? local : shared;
  }
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
  const rule = objectIn(text) ?? {};
  const { decision, created, ...texts } = rule;
  const isRule =
    (decision === "allow" || decision === "reject") &&
    Number.isSafeInteger(created) &&
    TEXTS.every((name) => typeof texts[name] === "string");
  return isRule ? (rule as unknown as SharedRule) : undefined;
}

const TEXTS = ["workspace", "subject", "session", "by", "principal"];

/** 0 for a rejection, 1 where a person is asked, 2 for a permission. */
function permits(text: SharedText): number {
  const decision = text === undefined ? undefined : readRule(text)?.decision;
  return decision === undefined ? 1 : decision === "reject" ? 0 : 2;
}

/** The texts of files that are commented on, by git's ids of them. A text never changes. */
export class TextKind extends DatabaseKind {
  readonly name = "text";

  /** The texts of the threads that were opened since. */
  read(since?: unknown): Promise<SharedRows> {
    return this.database.read((database) => {
      const rows = database
        .prepare(
          `SELECT blob, content FROM text
           WHERE blob IN (SELECT blob FROM thread WHERE opened > ?)`,
        )
        .all(Number(since ?? 0))
        .map(({ blob, content }) => [String(blob), encoded(content as Uint8Array)] as const)
        .filter(([blob]) => ID.test(blob));
      const last = database.prepare("SELECT max(opened) AS last FROM thread").get();
      return { rows: new Map(rows), isWhole: false, end: Number(last?.last ?? 0) };
    });
  }

  protected override find(database: DatabaseSync, key: string): SharedText {
    const row = database.prepare("SELECT content FROM text WHERE blob = ?").get(key);
    return row && encoded(row.content as Uint8Array);
  }

  protected override write(database: DatabaseSync, key: string, next: SharedText): void {
    const kept = Buffer.from(next ?? "", "base64");
    if (next === undefined || !isTextOf(kept, key)) return;
    database.prepare("INSERT OR IGNORE INTO text (blob, content) VALUES (?, ?)").run(key, kept);
  }

  merge(local: SharedText, shared: SharedText): SharedText {
    return shared ?? local;
  }
}

const ID = /^[0-9a-f]{40}$/;

/** Bytes of a text that another node has sent: a short message may unpack to any length. */
const LONGEST = 64 * 1024 * 1024;

/** Whether it is the text of this blob id. Texts are found by it, and a node could replace those of others. */
function isTextOf(kept: Uint8Array, blob: string): boolean {
  try {
    const text = fromKept(kept, LONGEST);
    const git = createHash("sha1").update(`blob ${text.length}\0`).update(text);
    return git.digest("hex") === blob;
  } catch {
    return false;
  }
}

function encoded(content: Uint8Array): string {
  return Buffer.from(content).toString("base64");
}
