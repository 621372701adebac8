import type { KV } from "@nats-io/kv";

import type { NatsLink } from "./nats-link.ts";
import { toProtocolError } from "./nats-errors.ts";
import { type Records, Refused, type StoredEntry } from "./records.ts";
import { isSessionId, readEntry, type SessionEntry } from "./session-entry.ts";

/** The entries of sessions in a key-value bucket of NATS. */
export class KvRecords implements Records {
  readonly #kv: KV;
  readonly #link: NatsLink;
  readonly #mostBytes: number;

  /** `mostBytes`: size of the largest entry. */
  constructor(kv: KV, link: NatsLink, mostBytes: number) {
    this.#kv = kv;
    this.#link = link;
    this.#mostBytes = mostBytes;
  }

  async get(id: string): Promise<StoredEntry | undefined> {
    if (!isSessionId(id)) return undefined;
    const found = await this.#link.ask(() => this.#kv.get(id));
    if (found === null || found.operation !== "PUT") return undefined;
    const entry = readEntry(id, found.string());
    if (entry !== undefined) return { entry, revision: found.revision };
    const next = "Restore it from a backup, or remove it from the bucket";
    throw new Refused(`The entry of session '${id}' in NATS cannot be read. ${next}.`);
  }

  async put(id: string, entry: SessionEntry, revision: number): Promise<number> {
    if (!isSessionId(id)) throw new Refused(`'${id.slice(0, 64)}' cannot be the id of a session.`);
    const value = Buffer.from(JSON.stringify(entry));
    if (value.length > this.#mostBytes) {
      const size = `it has ${value.length} bytes, and NATS takes ${this.#mostBytes}`;
      const next = "Raise `max_payload` of the NATS server";
      throw new Refused(`The record of session '${id}' is too large: ${size}. ${next}.`);
    }
    try {
      return await this.#link.ask(() => this.#kv.put(id, value, { previousSeq: revision }));
    } catch (error) {
      throw toProtocolError(error);
    }
  }
}
