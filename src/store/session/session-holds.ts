import type { DatabaseSync } from "node:sqlite";

import { TrunklineError } from "../../base/errors.ts";
import { endServed } from "../../base/process/process-tree.ts";
import type { Database } from "../database.ts";
import { sql } from "../sql.ts";

/** Milliseconds until a failed release of a session is retried. */
const RETRY_RELEASE = 1_000;

/** A session that this process holds. */
interface Hold {
  readonly id: string;
  readonly epoch: number;
  /** Another process has taken it. */
  isLost: boolean;
}

/** A hold of another process. */
interface OthersHold {
  readonly key: number;
  readonly id: string;
  readonly holder: string;
  readonly epoch: number;
}

/**
 * The sessions that this process holds, by their keys. A process that takes a session starts a new epoch, and
 * writes of earlier epochs are rejected: a stopped process does not know that it has lost the session.
 */
export class SessionHolds implements Disposable {
  readonly #database: Database;
  readonly #lost: (id: string) => void;
  readonly #held = new Map<number, Hold>();
  /** Sessions whose release is not on disk yet, and their epochs. */
  readonly #leaving = new Map<number, number>();
  #retry: NodeJS.Timeout | undefined;

  /** `lost` is called when another process has taken a session. */
  constructor(database: Database, lost: (id: string) => void) {
    this.#database = database;
    this.#lost = lost;
  }

  begin(key: number, id: string, epoch: number): void {
    this.#leaving.delete(key);
    this.#held.set(key, { id, epoch, isLost: false });
  }

  get(key: number): Hold | undefined {
    return this.#held.get(key);
  }

  /** The session was deleted. */
  forget(key: number): void {
    this.#held.delete(key);
  }

  /** Marks a session as taken by another process. Returns the error for later writes. */
  lose(key: number): Error {
    const held = this.#held.get(key);
    const { id = "" } = held ?? {};
    if (held?.isLost === false) {
      held.isLost = true;
      this.#lost(id);
    }
    const why = "since this one did not answer for a while";
    return new TrunklineError(
      "closed",
      `Another Trunkline has taken session '${id}' over, ${why}.`,
    );
  }

  /** Checks whether other processes have taken the held sessions, or one of them. */
  async confirm(id?: string): Promise<void> {
    const lost = await this.#database.read((database) => {
      const held = [...this.#held].filter((each) => id === undefined || each[1].id === id);
      return held.filter(([key, { epoch }]) => {
        return sql(database).get`SELECT epoch FROM session WHERE id = ${key}`?.epoch !== epoch;
      });
    });
    for (const [key, hold] of lost) if (this.#held.get(key) === hold) this.lose(key);
  }

  /** Releases a session. What fails is retried. */
  async release(key: number): Promise<void> {
    const held = this.#held.get(key);
    this.#held.delete(key);
    if (held !== undefined) this.#leaving.set(key, held.epoch);
    await this.#releaseAll();
  }

  /**
   * Starts a new epoch of a session that another process holds, ends the processes that it started for
   * the session, and releases it. `read` finds the hold, and throws where it cannot be taken.
   */
  async depose(
    pid: number,
    read: (database: DatabaseSync) => OthersHold | undefined,
  ): Promise<void> {
    const deposed = await this.#database.change((database) => {
      const held = read(database);
      if (held === undefined) return undefined;
      const epoch = held.epoch + 1;
      sql(database).run`UPDATE session SET epoch = ${epoch} WHERE id = ${held.key}`;
      return { ...held, epoch };
    });
    if (deposed === undefined) return;
    await endServed([deposed.id, deposed.holder], pid);
    const { key, epoch } = deposed;
    await this.#database.change((database) => release(database, key, epoch));
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#retry);
  }

  async #releaseAll(): Promise<void> {
    clearTimeout(this.#retry);
    const leaving = [...this.#leaving];
    try {
      await this.#database.change((database) => {
        for (const [key, epoch] of leaving) release(database, key, epoch);
      });
      for (const [key] of leaving) this.#leaving.delete(key);
    } catch (error) {
      this.#retry = setTimeout(() => {
        this.#releaseAll().catch(() => {});
      }, RETRY_RELEASE).unref();
      throw error;
    }
  }
}

function release(database: DatabaseSync, key: number, epoch: number): void {
  sql(database).run`UPDATE session SET holder = NULL WHERE id = ${key} AND epoch = ${epoch}`;
}
