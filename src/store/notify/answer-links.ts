import { randomBytes } from "node:crypto";

import { hashToken } from "../access/access-token.ts";
import type { Database } from "../database.ts";

/** What a link answers. */
export interface LinkedAnswer {
  readonly requestId: string;
  readonly sessionId: string;
  readonly optionId: string;
}

/** Milliseconds until a link expires. */
const GOOD_FOR = 24 * 60 * 60_000;

/**
 * One-time tokens that answer a permission request. Each answers one request with one option, and all of
 * a request end with it. Only their hashes are stored.
 */
export class AnswerLinks {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number = Date.now) {
    this.#database = database;
    this.#now = now;
  }

  /** A request that links may answer from now on. */
  async open(requestId: string, sessionId: string): Promise<void> {
    const now = this.#now();
    await this.#database.change((database) => {
      database.prepare("DELETE FROM request WHERE at < ?").run(now - GOOD_FOR);
      database
        .prepare("INSERT INTO request (id, session, at) VALUES (?, ?, ?)")
        .run(requestId, sessionId, now);
    });
  }

  async isOpen(requestId: string): Promise<boolean> {
    const row = await this.#database.read((database) =>
      database.prepare("SELECT 1 FROM request WHERE id = ?").get(requestId),
    );
    return row !== undefined;
  }

  /** A token for each option. Undefined if the request needs no answer any more. */
  async make(requestId: string, options: readonly string[]): Promise<string[] | undefined> {
    const tokens = options.map(() => randomBytes(32).toString("base64url"));
    const expires = this.#now() + GOOD_FOR;
    return await this.#database.change((database) => {
      const row = database.prepare("SELECT 1 FROM request WHERE id = ?").get(requestId);
      if (row === undefined) return undefined;
      const insert = database.prepare(
        "INSERT INTO answer (sha256, request, option, expires) VALUES (?, ?, ?, ?)",
      );
      for (const [at, token] of tokens.entries()) {
        insert.run(hashToken(token), requestId, options[at] ?? "", expires);
      }
      return tokens;
    });
  }

  /** Uses a token up, and all others of its request. Undefined for one that is not valid. */
  async take(token: string): Promise<LinkedAnswer | undefined> {
    const sha256 = hashToken(token);
    const find = `SELECT answer.*, request.session AS session FROM answer
      JOIN request ON request.id = answer.request WHERE sha256 = ? AND expires > ?`;
    const look = [sha256, this.#now()] as const;
    // A wrong token takes no lock and writes nothing.
    const found = await this.#database.read((database) => database.prepare(find).get(...look));
    if (found === undefined) return undefined;
    return await this.#database.change((database) => {
      const row = database.prepare(find).get(...look);
      if (row === undefined) return undefined;
      const requestId = String(row.request);
      database.prepare("DELETE FROM request WHERE id = ?").run(requestId);
      return { requestId, sessionId: String(row.session), optionId: String(row.option) };
    });
  }

  /** Makes a token valid again whose answer did not reach the session. The others of its request stay void. */
  async giveBack(token: string, { requestId, sessionId, optionId }: LinkedAnswer): Promise<void> {
    const now = this.#now();
    await this.#database.change((database) => {
      database
        .prepare("INSERT OR IGNORE INTO request (id, session, at) VALUES (?, ?, ?)")
        .run(requestId, sessionId, now);
      database
        .prepare("INSERT INTO answer (sha256, request, option, expires) VALUES (?, ?, ?, ?)")
        .run(hashToken(token), requestId, optionId, now + GOOD_FOR);
    });
  }

  /** The request needs no answer any more. */
  async close(requestId: string): Promise<void> {
    await this.#database.change((database) => {
      database.prepare("DELETE FROM request WHERE id = ?").run(requestId);
    });
  }
}
