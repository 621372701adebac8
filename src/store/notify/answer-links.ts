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
 * Tokens that answer a permission request. Each answers one request with one option, and all of a request
 * end with it. That an answer counts once is up to the session: a token that were used up before could not
 * be used again if the session is not reached. Only hashes are stored.
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
        .prepare("INSERT OR IGNORE INTO request (id, session, at) VALUES (?, ?, ?)")
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

  /** What a token answers. Undefined for one that is not valid. */
  async find(token: string): Promise<LinkedAnswer | undefined> {
    const row = await this.#database.read((database) =>
      database
        .prepare(
          `SELECT answer.*, request.session AS session FROM answer
           JOIN request ON request.id = answer.request WHERE sha256 = ? AND expires > ?`,
        )
        .get(hashToken(token), this.#now()),
    );
    if (row === undefined) return undefined;
    const { request, session, option } = row;
    return { requestId: String(request), sessionId: String(session), optionId: String(option) };
  }

  /** The request needs no answer any more: its tokens end. */
  async close(requestId: string): Promise<void> {
    await this.#database.change((database) => {
      database.prepare("DELETE FROM request WHERE id = ?").run(requestId);
    });
  }
}
