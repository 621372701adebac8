import type { EventMessage, StoredMessage } from "../../../src/fleet/ownership/journal.ts";
import {
  OutdatedError,
  RefusedWriteError,
  type SessionEntry,
  type StoredEntry,
} from "../../../src/fleet/ownership/session-entry.ts";

/** What is left out of the protocol, to see that the model finds what goes wrong without it. */
export type Omission = "nothing" | "sequence check" | "epoch in message ids";

/** What must never happen, and has happened. */
export class Violation extends Error {
  override readonly name = "Violation";
}

/** NATS as far as the protocol relies on it, for one session. It checks what it accepts. */
export class ModelServer {
  readonly #omission: Omission;
  #entry: StoredEntry | undefined;
  #revision = 0;
  #sequence = 0;
  #messages: StoredMessage[] = [];
  readonly #known = new Map<string, number>();
  /** Which process has published in an epoch. */
  readonly #writers = new Map<number, string>();
  /** Events that are complete, in their order. */
  #events: string[] = [];
  #parts = "";
  /** What it has accepted although it must never be sent. */
  violation: Violation | undefined;
  /** It refuses to store messages, as when its disk is full. */
  isFull = false;

  constructor(omission: Omission) {
    this.#omission = omission;
  }

  /** Complete events of the session as it is now. */
  get events(): readonly string[] {
    return this.#events;
  }

  get entry(): SessionEntry | undefined {
    return this.#entry?.entry;
  }

  get(): StoredEntry | undefined {
    return this.#entry;
  }

  put(by: string, entry: SessionEntry, revision: number): number {
    if ((this.#entry?.revision ?? 0) !== revision) throw new OutdatedError("wrong last sequence");
    const before = this.#entry?.entry;
    if (before !== undefined && entry.epoch === before.epoch && before.holder !== by) {
      this.#violated(`${by} writes to the entry of epoch ${entry.epoch}, which it never took`);
    }
    if (before !== undefined && entry.epoch < before.epoch) {
      this.#violated(`The epoch goes from ${before.epoch} back to ${entry.epoch}`);
    }
    this.#entry = { entry, revision: ++this.#revision };
    return this.#revision;
  }

  last(): StoredMessage | undefined {
    return this.#messages.at(-1);
  }

  read(from: number, to: number): StoredMessage[] {
    return this.#messages.filter(({ sequence }) => sequence >= from && sequence <= to);
  }

  purge(before: number): void {
    this.#messages = this.#messages.filter(({ sequence }) => sequence >= before);
  }

  /** The time is over for which the server recognizes messages. */
  forget(): void {
    this.#known.clear();
  }

  publish(by: string, message: EventMessage, after: number): number {
    const isBare = this.#omission === "epoch in message ids" && message.body.length > 0;
    const id = isBare ? message.id.replace(/:\d+:/, ":") : message.id;
    // As NATS does: a message that is known is answered before its sequence is looked at.
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    if (this.isFull) throw new RefusedWriteError("maximum messages exceeded");
    const isChecked = this.#omission !== "sequence check";
    if (isChecked && (this.last()?.sequence ?? 0) !== after)
      throw new OutdatedError("wrong sequence");
    const stored = { ...message, sequence: ++this.#sequence };
    this.#check(by, stored);
    this.#messages.push(stored);
    this.#known.set(id, stored.sequence);
    return stored.sequence;
  }

  #violated(says: string): void {
    this.violation ??= new Violation(says);
  }

  #check(by: string, { epoch, first, last, body, more }: StoredMessage): void {
    const writer = this.#writers.get(epoch);
    if (writer !== undefined && writer !== by) {
      this.#violated(`${by} and ${writer} both publish in epoch ${epoch}`);
    }
    this.#writers.set(epoch, by);
    const before = this.last()?.epoch ?? 0;
    if (epoch < before) this.#violated(`A message of epoch ${epoch} follows epoch ${before}`);
    const isNew = epoch > before;
    if (isNew) this.#parts = "";
    if (body.length === 0) {
      if (last === 0) this.#events = [];
      if (last !== this.#events.length) {
        this.#violated(`Epoch ${epoch} begins after event ${last} of ${this.#events.length}`);
      }
      return;
    }
    if (first !== this.#events.length + 1) {
      this.#violated(`Event ${first} follows event ${this.#events.length}`);
    }
    this.#parts += Buffer.from(body).toString();
    if (more) return;
    this.#events.push(...this.#parts.split("\n").slice(0, -1));
    this.#parts = "";
    if (last !== this.#events.length) this.#violated(`Event ${last} is not complete`);
  }
}
