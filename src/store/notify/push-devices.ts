import type { Database } from "../database.ts";

/** A browser that subscribed to push messages. */
export interface PushDevice {
  readonly id: string;
  readonly endpoint: string;
  readonly p256dh: string;
  readonly auth: string;
  /** For people. */
  readonly name: string;
  /** What lets the device in: `login ID`, or `owner MARK`. */
  readonly proof: string;
  readonly created: number;
}

/** Devices that may be subscribed; the oldest goes for a new one. */
const MOST = 50;

/** The browsers that are notified by Web Push. */
export class PushDevices {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async list(): Promise<PushDevice[]> {
    const rows = await this.#database.read((database) =>
      database.prepare("SELECT * FROM push_device ORDER BY created").all(),
    );
    return rows as unknown as PushDevice[];
  }

  /** Adds a device, or changes the one with the same endpoint. Returns its id. */
  async add(device: Omit<PushDevice, "id" | "created">, now = Date.now()): Promise<string> {
    const { endpoint, p256dh, auth, name, proof } = device;
    return await this.#database.change((database) => {
      const row = database
        .prepare(
          `INSERT INTO push_device (id, endpoint, p256dh, auth, name, proof, created)
           VALUES (?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (endpoint) DO UPDATE SET p256dh = excluded.p256dh, auth = excluded.auth,
             name = excluded.name, proof = excluded.proof
           RETURNING id`,
        )
        .get(crypto.randomUUID(), endpoint, p256dh, auth, name, proof, now);
      database
        .prepare(
          `DELETE FROM push_device WHERE id IN
             (SELECT id FROM push_device ORDER BY created DESC LIMIT -1 OFFSET ?)`,
        )
        .run(MOST);
      return String(row?.id);
    });
  }

  /** Removes a device by its id or its endpoint. Whether there was one. */
  async remove(which: string): Promise<boolean> {
    return await this.#database.change((database) => {
      const { changes } = database
        .prepare("DELETE FROM push_device WHERE id = ? OR endpoint = ?")
        .run(which, which);
      return changes > 0;
    });
  }
}
