import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { hashToken } from "../access/access-token.ts";
import { Database, type Row, Tables } from "../database.ts";
import { Holder, HOLDERS } from "../holder.ts";
import { sql } from "../sql.ts";

/** The database of notifications in the data folder. */
export const NOTIFICATIONS_FILE = "notifications.sqlite";

export const NOTIFY_MIGRATIONS = [
  `CREATE TABLE notice (
     id TEXT PRIMARY KEY,
     at INTEGER NOT NULL,
     -- What happened, as JSON.
     content TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;

   -- A notice for one receiver.
   CREATE TABLE delivery (
     id TEXT PRIMARY KEY,
     notice TEXT NOT NULL REFERENCES notice (id) ON DELETE CASCADE,
     -- The entry of the configuration, and for a push the device.
     entry TEXT NOT NULL,
     device TEXT,
     -- The receiver, for people.
     receiver TEXT NOT NULL,
     state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'withdrawn')),
     attempts INTEGER NOT NULL DEFAULT 0,
     -- When the next attempt is due.
     due INTEGER NOT NULL,
     -- The process that is sending it.
     holder TEXT,
     -- What the last attempt came to.
     result TEXT,
     changed INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;

   CREATE INDEX delivery_due ON delivery (due) WHERE state = 'pending';
   CREATE INDEX delivery_notice ON delivery (notice);

   CREATE TABLE attempt (
     delivery TEXT NOT NULL REFERENCES delivery (id) ON DELETE CASCADE,
     at INTEGER NOT NULL,
     result TEXT NOT NULL
   ) STRICT;

   CREATE INDEX attempt_of ON attempt (delivery);

   -- A permission request that a link may still answer.
   CREATE TABLE request (
     id TEXT PRIMARY KEY,
     session TEXT NOT NULL,
     at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;

   CREATE TABLE answer (
     -- Of the token, which is not stored.
     sha256 TEXT PRIMARY KEY,
     request TEXT NOT NULL REFERENCES request (id) ON DELETE CASCADE,
     option TEXT NOT NULL,
     expires INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;

   CREATE INDEX answer_of ON answer (request);

   CREATE TABLE push_device (
     id TEXT PRIMARY KEY,
     endpoint TEXT NOT NULL UNIQUE,
     p256dh TEXT NOT NULL,
     auth TEXT NOT NULL,
     name TEXT NOT NULL,
     -- What lets the device in; it gets nothing once that has ended.
     proof TEXT NOT NULL,
     created INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;`,
];

export function openNotifyDatabase(data: string): Promise<Database> {
  return Database.open(join(data, NOTIFICATIONS_FILE), NOTIFY_MIGRATIONS);
}

/** Milliseconds until a link expires. */
const GOOD_FOR = 24 * 60 * 60_000;

/**
 * Tokens that answer a permission request. Each answers one request with one option, and all of a request
 * end with it. The session makes sure that an answer counts once. A token is not used up by an
 * attempt, so that it can be tried again if the session cannot be reached. Only hashes are stored.
 */
export class AnswerLinks extends Tables {
  /** Registers a request that links may answer. */
  async open(requestId: string, sessionId: string): Promise<void> {
    const now = this.now();
    await this.database.change((database) => {
      sql(database).run`DELETE FROM request WHERE at < ${now - GOOD_FOR}`;
      sql(database).run`INSERT OR IGNORE INTO request (id, session, at)
        VALUES (${requestId}, ${sessionId}, ${now})`;
    });
  }

  async isOpen(requestId: string): Promise<boolean> {
    return (await this.database.get`SELECT 1 FROM request WHERE id = ${requestId}`) !== undefined;
  }

  /** A token for each option. Undefined if the request needs no answer any more. */
  async make(requestId: string, options: readonly string[]): Promise<string[] | undefined> {
    const tokens = options.map(() => randomBytes(32).toString("base64url"));
    const expires = this.now() + GOOD_FOR;
    return await this.database.change((database) => {
      const row = sql(database).get`SELECT 1 FROM request WHERE id = ${requestId}`;
      if (row === undefined) return undefined;
      for (const [at, token] of tokens.entries()) {
        sql(database).run`INSERT INTO answer (sha256, request, option, expires)
          VALUES (${hashToken(token)}, ${requestId}, ${options[at] ?? ""}, ${expires})`;
      }
      return tokens;
    });
  }

  /** The request and the option that a token stands for. Undefined if it is not valid. */
  async find(token: string) {
    const row = await this.database.get`SELECT answer.*, request.session AS session FROM answer
      JOIN request ON request.id = answer.request WHERE sha256 = ${hashToken(token)}
      AND expires > ${this.now()}`;
    if (row === undefined) return undefined;
    const { request, session, option } = row;
    return { requestId: String(request), sessionId: String(session), optionId: String(option) };
  }

  /** The request needs no answer any more: its tokens end. */
  async close(requestId: string): Promise<void> {
    await this.database.run`DELETE FROM request WHERE id = ${requestId}`;
  }
}

/** A browser that subscribed to push messages. */
export interface PushDevice {
  readonly id: string;
  readonly endpoint: string;
  readonly p256dh: string;
  readonly auth: string;
  /** For people. */
  readonly name: string;
  /** The login of the device: `login ID`, or `owner MARK`. */
  readonly proof: string;
  readonly created: number;
}

/** The most subscribed devices; a new one replaces the oldest. */
const MOST = 50;

/** The browsers that are notified by Web Push. */
export class PushDevices extends Tables {
  async list(): Promise<PushDevice[]> {
    const rows = await this.database.all`SELECT * FROM push_device ORDER BY created`;
    return rows as unknown as PushDevice[];
  }

  /** Adds a device, or changes the one with the same endpoint. Returns its id. */
  async add(device: Omit<PushDevice, "id" | "created">, now = Date.now()): Promise<string> {
    const { endpoint, p256dh, auth, name, proof } = device;
    return await this.database.change((database) => {
      const row = sql(database).get`INSERT INTO push_device (id, endpoint, p256dh, auth, name,
        proof, created)
        VALUES (${crypto.randomUUID()}, ${endpoint}, ${p256dh}, ${auth}, ${name}, ${proof},
        ${now})
        ON CONFLICT (endpoint) DO UPDATE SET p256dh = excluded.p256dh, auth = excluded.auth,
        name = excluded.name, proof = excluded.proof
        RETURNING id`;
      sql(database).run`DELETE FROM push_device WHERE id IN
        (SELECT id FROM push_device ORDER BY created DESC LIMIT -1 OFFSET ${MOST})`;
      return String(row?.id);
    });
  }

  /** Removes a device by its id or its endpoint. Whether there was one. */
  remove(which: string): Promise<boolean> {
    return this.database.run`DELETE FROM push_device WHERE id = ${which} OR endpoint = ${which}`;
  }
}

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

interface Notice {
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
  /** The result of the last attempt; undefined before the first. */
  readonly result: string | undefined;
  readonly changed: number;
}

/** The result of an attempt. A pending delivery is tried again when it is due. */
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
export class DeliveryQueue extends Tables implements Disposable {
  readonly #holder: Holder;

  constructor(database: Database, data: string, now?: () => number) {
    super(database, now);
    this.#holder = Holder.at(join(data, HOLDERS));
  }

  async add(notice: Notice, receivers: readonly Receiver[]): Promise<void> {
    await this.database.change((database) => {
      // Old notices go, but none that is not delivered yet.
      sql(database).run`DELETE FROM notice WHERE id IN (SELECT id FROM notice
      ORDER BY at DESC LIMIT -1 OFFSET ${KEPT})
      AND id NOT IN (SELECT notice FROM delivery WHERE state = 'pending')`;
      sql(database).run`INSERT INTO notice (id, at, content)
        VALUES (${notice.id}, ${notice.at}, ${JSON.stringify(notice.content)})`;
      for (const { entry, device, receiver, problem } of receivers) {
        const state = problem === undefined ? "pending" : "failed";
        const now = this.now();
        sql(database).run`INSERT INTO delivery
          (id, notice, entry, device, receiver, state, due, result, changed)
          VALUES (${crypto.randomUUID()}, ${notice.id}, ${entry}, ${device ?? null}, ${receiver},
          ${state}, ${now}, ${problem ?? null}, ${now})`;
      }
    });
  }

  /**
   * Takes deliveries that are due, for entries of the given keys. One that another process was sending
   * when it ended is due at once.
   */
  async take(entries: readonly string[], most: number): Promise<Delivery[]> {
    return await this.database.change((database) => {
      this.#giveUpOld(database);
      const rows = database.prepare(`${SELECT} WHERE state = 'pending' ORDER BY due`).all();
      const taken = rows.filter((row) => this.#isFree(row, entries)).slice(0, most);
      for (const { id } of taken) {
        sql(database).run`UPDATE delivery SET holder = ${this.#holder.id}
          WHERE id = ${String(id)}`;
      }
      return taken.map(deliveryOf);
    });
  }

  /** When the next delivery is due that nobody is sending; undefined where there is none. */
  async nextDue(entries: readonly string[]): Promise<number | undefined> {
    const rows = await this.database.all`SELECT * FROM delivery
      WHERE state = 'pending' ORDER BY due`;
    const { id } = this.#holder;
    const mine = rows.find((row) => entries.includes(String(row.entry)) && row.holder !== id);
    return mine === undefined ? undefined : Number(mine.due);
  }

  /** Records an attempt. */
  async tried({ id }: Delivery, { state, result, due }: Outcome): Promise<void> {
    await this.database.change((database) => {
      const now = this.now();
      sql(database).run`UPDATE delivery SET state = ${state}, result = ${result}, due =
        ${due ?? now}, changed = ${now}, holder = NULL,
        attempts = attempts + 1 WHERE id = ${id}`;
      sql(database).run`INSERT INTO attempt (delivery, at, result)
        SELECT id, ${now}, ${result} FROM delivery WHERE id = ${id}`;
    });
  }

  /** Releases a delivery that was not attempted. */
  async release({ id }: Delivery): Promise<void> {
    await this.database.run`UPDATE delivery SET holder = NULL WHERE id = ${id}`;
  }

  /** The newest deliveries first. */
  async list(most = 100): Promise<Delivery[]> {
    return this.#find("ORDER BY notice.at DESC, delivery.id LIMIT ?", most);
  }

  /** The attempts of a delivery, oldest first. */
  async attempts(id: string): Promise<{ readonly at: number; readonly result: string }[]> {
    const rows = await this.database.all`SELECT at, result FROM attempt
      WHERE delivery = ${id} ORDER BY rowid`;
    return rows.map(({ at, result }) => ({ at: Number(at), result: String(result) }));
  }

  /** The deliveries of one notice. */
  async ofNotice(id: string): Promise<Delivery[]> {
    return this.#find("WHERE delivery.notice = ? ORDER BY delivery.id", id);
  }

  async #find(which: string, value: string | number): Promise<Delivery[]> {
    const find = `${SELECT} ${which}`;
    return (await this.database.read((it) => it.prepare(find).all(value))).map(deliveryOf);
  }

  [Symbol.dispose](): void {
    this.#holder[Symbol.dispose]();
  }

  #isFree(row: Row, entries: readonly string[]): boolean {
    if (!entries.includes(String(row.entry))) return false;
    if (row.holder === null) return Number(row.due) <= this.now();
    const holder = String(row.holder);
    return holder !== this.#holder.id && !this.#holder.isAlive(holder);
  }

  #giveUpOld(database: DatabaseSync): void {
    const now = this.now();
    sql(database).run`UPDATE delivery SET state = 'failed', changed = ${now}, holder = NULL,
      result = 'it could not be delivered within a day' || coalesce(': ' || result, '')
      WHERE state = 'pending' AND notice IN (SELECT id FROM notice WHERE at < ${now - LATEST})`;
  }
}

function deliveryOf(row: Row): Delivery {
  const { notice: id, at, content, holder: _, device, result, ...rest } = row;
  const notice = { id, at, content: JSON.parse(String(content)) as unknown };
  const unset = { device: device ?? undefined, result: result ?? undefined };
  return { ...rest, ...unset, notice } as unknown as Delivery;
}

/** Everything that is stored about notifications. */
export type NotifyStore = Awaited<ReturnType<typeof openNotifyStore>>;

export async function openNotifyStore(data: string) {
  const database = await openNotifyDatabase(data);
  const queue = new DeliveryQueue(database, data);
  return {
    queue,
    links: new AnswerLinks(database),
    devices: new PushDevices(database),
    [Symbol.dispose](): void {
      queue[Symbol.dispose]();
      database[Symbol.dispose]();
    },
  };
}
