import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { join } from "node:path";

import type { Database } from "../database.ts";
import { Holder, HOLDERS } from "../holder.ts";

/** Somebody to be notified. */
export interface Receiver {
  /** Key of the entry in the configuration. */
  readonly entry: string;
  /** Id of the device, for a push. */
  readonly device?: string | undefined;
  /** For people. */
  readonly receiver: string;
  /** Why nothing can be sent; the delivery has failed from the start. */
  readonly problem?: string | undefined;
}

export interface Notice {
  readonly id: string;
  readonly at: number;
  /** A JSON value. */
  readonly content: unknown;
}

export type DeliveryState = "pending" | "delivered" | "failed" | "withdrawn";

/** A notice that is sent to one receiver. */
export interface Delivery {
  readonly id: string;
  readonly notice: Notice;
  readonly entry: string;
  readonly device: string | undefined;
  readonly receiver: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** When the next attempt is due. */
  readonly due: number;
  /** What the last attempt came to; undefined before the first. */
  readonly result: string | undefined;
  readonly changed: number;
}

/** What an attempt came to. A pending delivery is tried again when it is due. */
export interface Outcome {
  readonly state: DeliveryState;
  readonly result: string;
  readonly due?: number;
}

/** Milliseconds after which a delivery that never succeeded has failed. */
const LATEST = 24 * 60 * 60_000;
/** Notices that are kept for people to look at. */
const KEPT = 500;

const SELECT = `SELECT delivery.*, notice.at AS at, notice.content AS content
  FROM delivery JOIN notice ON notice.id = delivery.notice`;

/**
 * The queue of notifications. It outlives the process that fills it: deliveries that a process did not
 * finish are taken over by the next one.
 */
export class DeliveryQueue implements Disposable {
  readonly #database: Database;
  readonly #holder: Holder;
  readonly #now: () => number;

  constructor(database: Database, data: string, now: () => number = Date.now) {
    this.#database = database;
    this.#holder = Holder.at(join(data, HOLDERS));
    this.#now = now;
  }

  async add(notice: Notice, receivers: readonly Receiver[]): Promise<void> {
    await this.#database.change((database) => {
      this.#tidy(database);
      database
        .prepare("INSERT INTO notice (id, at, content) VALUES (?, ?, ?)")
        .run(notice.id, notice.at, JSON.stringify(notice.content));
      const insert = database.prepare(
        `INSERT INTO delivery (id, notice, entry, device, receiver, state, due, result, changed)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      );
      for (const { entry, device, receiver, problem } of receivers) {
        const state = problem === undefined ? "pending" : "failed";
        const now = this.#now();
        const id = crypto.randomUUID();
        const [where, why] = [device ?? null, problem ?? null];
        insert.run(id, notice.id, entry, where, receiver, state, now, why, now);
      }
    });
  }

  /**
   * Takes deliveries that are due, for entries of the given keys. One that another process was sending
   * when it ended is due at once.
   */
  async take(entries: readonly string[], most: number): Promise<Delivery[]> {
    return await this.#database.change((database) => {
      this.#giveUpOld(database);
      const rows = database.prepare(`${SELECT} WHERE state = 'pending' ORDER BY due`).all();
      const taken = rows.filter((row) => this.#isFree(row, entries)).slice(0, most);
      const take = database.prepare("UPDATE delivery SET holder = ? WHERE id = ?");
      for (const { id } of taken) take.run(this.#holder.id, String(id));
      return taken.map(deliveryOf);
    });
  }

  /** When the next delivery is due that nobody is sending; undefined where there is none. */
  async nextDue(entries: readonly string[]): Promise<number | undefined> {
    const rows = await this.#database.read((database) =>
      database.prepare("SELECT * FROM delivery WHERE state = 'pending' ORDER BY due").all(),
    );
    const mine = rows.find(
      ({ entry, holder }) => entries.includes(String(entry)) && holder !== this.#holder.id,
    );
    return mine === undefined ? undefined : Number(mine.due);
  }

  /** Records an attempt. */
  async tried({ id }: Delivery, { state, result, due }: Outcome): Promise<void> {
    await this.#database.change((database) => {
      const now = this.#now();
      database
        .prepare(
          `UPDATE delivery SET state = ?, result = ?, due = ?, changed = ?, holder = NULL,
             attempts = attempts + 1 WHERE id = ?`,
        )
        .run(state, result, due ?? now, now, id);
      database
        .prepare(
          "INSERT INTO attempt (delivery, at, result) SELECT id, ?, ? FROM delivery WHERE id = ?",
        )
        .run(now, result, id);
    });
  }

  /** Gives back a delivery that was not attempted. */
  async release({ id }: Delivery): Promise<void> {
    await this.#database.change((database) => {
      database.prepare("UPDATE delivery SET holder = NULL WHERE id = ?").run(id);
    });
  }

  /** The newest deliveries first. */
  async list(most = 100): Promise<Delivery[]> {
    const rows = await this.#database.read((database) =>
      database.prepare(`${SELECT} ORDER BY notice.at DESC, delivery.id LIMIT ?`).all(most),
    );
    return rows.map(deliveryOf);
  }

  /** The attempts of a delivery, oldest first. */
  async attempts(id: string): Promise<{ readonly at: number; readonly result: string }[]> {
    const rows = await this.#database.read((database) =>
      database.prepare("SELECT at, result FROM attempt WHERE delivery = ? ORDER BY rowid").all(id),
    );
    return rows.map(({ at, result }) => ({ at: Number(at), result: String(result) }));
  }

  /** The deliveries of one notice. */
  async ofNotice(id: string): Promise<Delivery[]> {
    const rows = await this.#database.read((database) =>
      database.prepare(`${SELECT} WHERE delivery.notice = ? ORDER BY delivery.id`).all(id),
    );
    return rows.map(deliveryOf);
  }

  [Symbol.dispose](): void {
    this.#holder[Symbol.dispose]();
  }

  #isFree(row: Row, entries: readonly string[]): boolean {
    if (!entries.includes(String(row.entry))) return false;
    if (row.holder === null) return Number(row.due) <= this.#now();
    const holder = String(row.holder);
    return holder !== this.#holder.id && !this.#holder.isAlive(holder);
  }

  #giveUpOld(database: DatabaseSync): void {
    const now = this.#now();
    database
      .prepare(
        `UPDATE delivery SET state = 'failed', changed = ?, holder = NULL,
           result = 'it could not be delivered within a day' || coalesce(': ' || result, '')
         WHERE state = 'pending' AND notice IN (SELECT id FROM notice WHERE at < ?)`,
      )
      .run(now, now - LATEST);
  }

  /** Deletes old notices, but none that is not delivered yet. */
  #tidy(database: DatabaseSync): void {
    database
      .prepare(
        `DELETE FROM notice WHERE id IN (SELECT id FROM notice ORDER BY at DESC LIMIT -1 OFFSET ?)
           AND id NOT IN (SELECT notice FROM delivery WHERE state = 'pending')`,
      )
      .run(KEPT);
  }
}

type Row = Record<string, SQLOutputValue>;

function deliveryOf(row: Row): Delivery {
  const text = (value: SQLOutputValue | undefined): string | undefined =>
    typeof value === "string" ? value : undefined;
  return {
    id: String(row.id),
    notice: {
      id: String(row.notice),
      at: Number(row.at),
      content: JSON.parse(String(row.content)) as unknown,
    },
    entry: String(row.entry),
    device: text(row.device),
    receiver: String(row.receiver),
    state: String(row.state) as DeliveryState,
    attempts: Number(row.attempts),
    due: Number(row.due),
    result: text(row.result),
    changed: Number(row.changed),
  };
}
