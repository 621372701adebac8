import { randomBytes } from "node:crypto";

import type { Subjects } from "../subjects.ts";
import {
  type RowUpdate,
  type Entry,
  isPending,
  markOf,
  SharedBase,
  type SharedKind,
  type SharedText,
} from "./shared-base.ts";
import {
  type ChangeStreamSettings,
  type PublishedMessage,
  SharedStore,
  type SharedStoreOptions,
} from "./shared-store.ts";

/** Changes that are sent without waiting for each other. */
const IN_FLIGHT = 64;
/** Bytes of a message beside its text. */
const HEADERS = 1024;

interface SentRow {
  /** Undefined if it is to be read again in any case. */
  readonly stamp: unknown;
  readonly end: unknown;
}

export interface SharedStateOptions extends SharedStoreOptions {
  readonly kinds: readonly SharedKind[];
  /** `tokens` for what only gateways may read and write. */
  readonly part?: "state" | "tokens";
}

/**
 * Keeps stores of all nodes of a pool equal. Every change of a row is a message in one stream, published
 * only if the node has seen the message before it, and every node applies the stream in its order. A
 * change is made in the local store first, by whoever makes it, and found there: so it is in force here
 * at once, and sent as soon as NATS can be reached.
 */
export class SharedState extends SharedStore {
  readonly #options: SharedStateOptions;
  readonly #kinds: ReadonlyMap<string, SharedKind>;
  /** The state of each store when all its changes were last sent. */
  readonly #sent = new Map<string, SentRow>();
  /** Sizes of texts that NATS refuses, by kind and key, so that they are reported once. */
  readonly #refused = new Map<string, number>();

  private constructor(options: SharedStateOptions, base: SharedBase) {
    const { connection, kinds, part } = options;
    const settings = part === "tokens" ? tokenStream : sharedStream;
    super(options, base, settings(connection.subjects));
    this.#options = options;
    this.#kinds = new Map(kinds.map((kind) => [kind.name, kind]));
  }

  static async open(options: SharedStateOptions): Promise<SharedState> {
    const base = await SharedBase.open(options.data, options.part ?? "state");
    return new SharedState(options, base).start();
  }

  protected override async begin(created: string): Promise<number> {
    const how = await this.base.begin(this.stream.name, created);
    if (how === "joins") this.#sent.clear();
    const read = await this.base.read([...this.#kinds.keys()]);
    return Math.min(...read.values());
  }

  /** Applies messages of others in their order. */
  protected override async apply(messages: readonly PublishedMessage[]): Promise<void> {
    const latest = new Map<string, Map<string, PublishedMessage>>();
    for (const message of messages) {
      const [kind = "", ...rest] = message.subject.slice(this.stream.prefix.length).split(".");
      const key = rest.join(".");
      // Kinds of a newer version are read after the upgrade.
      if (!this.#kinds.has(kind)) continue;
      latest.getOrInsertComputed(kind, () => new Map()).set(key, message);
    }
    const end = messages.at(-1)?.seq ?? 0;
    const read = new Map(this.#kinds.keys().map((kind) => [kind, end]));
    const agreed = new Map<string, Map<string, Entry>>();
    const failures: unknown[] = [];
    for (const [kind, rows] of latest) {
      try {
        agreed.set(kind, await this.#applyRows(kind, rows));
      } catch (error) {
        // A store that cannot be written keeps its place in the stream; the others go on.
        read.delete(kind);
        failures.push(error);
      }
    }
    await this.base.note(agreed, read);
    if (failures.length > 0) throw failures[0];
  }

  async #applyRows(
    name: string,
    rows: ReadonlyMap<string, PublishedMessage>,
  ): Promise<Map<string, Entry>> {
    const kind = this.#kinds.get(name);
    const known = await this.base.entries(name, rows.keys());
    const isNew = ([key, { seq }]: [string, PublishedMessage]): boolean => {
      return seq > (known.get(key)?.seq ?? 0);
    };
    const fresh = new Map([...rows].filter(isNew));
    const agreed = new Map<string, Entry>();
    if (kind === undefined || fresh.size === 0) return agreed;
    /** Rows that differ from those of the other nodes. */
    const unsent = new Map<string, string>();
    const decide: RowUpdate = (key, local) => {
      const shared = textOf(fresh.get(key));
      unsent.delete(key);
      const entry = known.get(key);
      // Where another node sent the row while this one was about to, nothing is agreed yet.
      const isAgreed = entry === undefined || !isPending(entry);
      const isUnchanged = isAgreed && markOf(local) === (entry?.local ?? "");
      if (local === shared || isUnchanged) return shared;
      const merged = kind.merge(local, shared);
      if (merged !== shared) unsent.set(key, markOf(shared));
      return merged;
    };
    const changed = await this.#change(kind, [...fresh.keys()], decide);
    for (const [key, { seq }] of fresh) {
      agreed.set(key, { seq, local: unsent.get(key) ?? markOf(changed.get(key)) });
    }
    this.#sent.set(name, { stamp: undefined, end: this.#sent.get(name)?.end });
    return agreed;
  }

  /** A row that cannot be applied is left out: it would hold up all later ones, at every node. */
  async #change(
    kind: SharedKind,
    keys: readonly string[],
    decide: RowUpdate,
  ): Promise<ReadonlyMap<string, SharedText>> {
    try {
      return await kind.change(keys, decide);
    } catch (error) {
      if (!isRowsFault(error)) throw error;
      const [key = ""] = keys;
      if (keys.length === 1) {
        this.#options.report("shared.not-applied", { kind: kind.name, key, error });
        return new Map();
      }
      const changed = new Map<string, SharedText>();
      for (const each of keys) {
        for (const [one, text] of await this.#change(kind, [each], decide)) changed.set(one, text);
      }
      return changed;
    }
  }

  /** A store that cannot be read does not hold up the others. */
  protected override async send(): Promise<void> {
    const failures: unknown[] = [];
    for (const kind of this.#kinds.values()) {
      await this.#sendKind(kind).catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Sends the rows of a store that were changed here. */
  async #sendKind(kind: SharedKind): Promise<void> {
    const stamp = await kind.stamp();
    const before = this.#sent.get(kind.name);
    if (before?.stamp !== undefined && before.stamp === stamp) return;
    const { rows, isWhole, isLost = false, end } = await kind.read(before?.end);
    if (isLost && (await this.base.forget(kind.name))) {
      this.#sent.delete(kind.name);
      throw new Error(`The ${kind.name} store was lost: it is filled again from the other nodes`);
    }
    const known = await this.base.entries(kind.name, isWhole ? undefined : rows.keys());
    const changed = new Map<string, SharedText>(
      [...rows].filter(([key, text]) => {
        const entry = known.get(key);
        return entry === undefined || isPending(entry) || markOf(text) !== entry.local;
      }),
    );
    if (isWhole) {
      for (const [key, { local }] of known) {
        if (local !== "" && !rows.has(key)) changed.set(key, undefined);
      }
    }
    const isSent = await this.#sendRows(kind.name, [...changed], known);
    // A row that another node has changed first is looked at again when its message was applied.
    if (isSent) this.#sent.set(kind.name, { stamp, end });
  }

  /** Whether all of them are sent. */
  async #sendRows(
    kind: string,
    rows: readonly (readonly [string, SharedText])[],
    known: ReadonlyMap<string, Entry>,
  ): Promise<boolean> {
    let isAll = true;
    for (let at = 0; at < rows.length; at += IN_FLIGHT) {
      const some = rows
        .slice(at, at + IN_FLIGHT)
        .filter(([key, text]) => this.#fits(kind, key, text));
      // Should this process end before it has noted that a new row was sent, and the row be deleted then,
      // it must not look as if it came from another node.
      const first = some.filter(([key, text]) => !known.has(key) && text !== undefined);
      const pending = first.map(([key, text]) => [key, { seq: 0, local: markOf(text) }] as const);
      if (pending.length > 0) await this.base.note(new Map([[kind, new Map(pending)]]));
      const sent = await Promise.all(
        some.map(([key, text]) => {
          const subject = `${this.stream.prefix}${kind}.${key}`;
          return this.stream.publish(subject, text ?? "", known.get(key)?.seq ?? 0);
        }),
      );
      const entries = some.flatMap(([key, text], index) => {
        const seq = sent[index];
        return seq === undefined ? [] : [[key, { seq, local: markOf(text) }] as const];
      });
      if (entries.length < some.length) isAll = false;
      await this.base.note(new Map([[kind, new Map(entries)]]));
    }
    return isAll;
  }

  /** NATS refuses messages over its limit: such a row stays on this node. */
  #fits(kind: string, key: string, text = ""): boolean {
    const { connection, report } = this.#options;
    const size = Buffer.byteLength(text);
    const most = connection.maxPayload - HEADERS;
    if (size <= most) return true;
    const id = `${kind}.${key}`;
    if (this.#refused.get(id) !== size) report("shared.too-large", { kind, key, size, most });
    this.#refused.set(id, size);
    return false;
  }
}

function sharedStream(subjects: Subjects): ChangeStreamSettings {
  return { name: subjects.shared, subjects: [subjects.change("*", ">")], perSubject: 1 };
}

/**
 * A worker can have JetStream deliver what it stored to any subject that it knows, whatever it may
 * publish itself. So a part of these subjects is secret: only gateways may look at the stream.
 */
function tokenStream(subjects: Subjects): ChangeStreamSettings {
  const secret = randomBytes(16).toString("hex");
  return {
    name: subjects.tokens,
    subjects: [subjects.tokenChange(secret, "*", ">")],
    perSubject: 1,
  };
}

/** SQLite's primary result codes for values that do not fit: too big, constraint, mismatch. */
const UNFIT: ReadonlySet<number> = new Set([18, 19, 20]);

/** Whether a store failed because of what it was to store, and not because it cannot be written. */
function isRowsFault(error: unknown): boolean {
  const { errcode } = ((error as Error).cause ?? {}) as { readonly errcode?: number };
  if (errcode !== undefined) return UNFIT.has(errcode & 0xff);
  return [TypeError, RangeError, SyntaxError].some((kind) => error instanceof kind);
}

/** A deleted row is an empty message. */
function textOf(message: PublishedMessage | undefined): SharedText {
  if (message === undefined || message.data.length === 0) return undefined;
  return Buffer.from(message.data).toString();
}
