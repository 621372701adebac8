import { setTimeout as delay } from "node:timers/promises";

import type { NatsConnection } from "@nats-io/nats-core";

import type { Subjects } from "../subjects.ts";
import { ChangeStream, type Published } from "./change-stream.ts";
import { type Entry, markOf, SharedBase } from "./shared-base.ts";
import type { SharedKind, SharedText } from "./shared-kind.ts";

/** Milliseconds between two looks at the stores of this node. */
const LOOK_EVERY = 200;
/** Milliseconds until NATS is tried again. */
const RETRY_AFTER = 500;
/** Changes of others that are one transaction. */
const MOST_AT_ONCE = 200;
/** Changes that are sent without waiting for each other. */
const IN_FLIGHT = 64;
/** Bytes of a message beside its text. */
const HEADERS = 1024;

interface Sent {
  /** Undefined if it is to be read again in any case. */
  readonly stamp: unknown;
  readonly end: unknown;
}

export interface SharedStateOptions {
  readonly connection: NatsConnection;
  readonly subjects: Subjects;
  /** The data folder. Only one process of a folder may share it at a time. */
  readonly data: string;
  readonly kinds: readonly SharedKind[];
  readonly report: (event: string, fields: Record<string, unknown>) => void;
}

/** How the sharing goes, for people. */
export interface SharedStatus {
  /** This node has what the others had when it joined, and the others have what it had. */
  readonly isUpToDate: boolean;
  /** Why changes cannot be sent or read; undefined while they can. */
  readonly problem?: string;
}

/**
 * Keeps stores of all nodes of a pool equal. Every change of a row is a message in one stream, published
 * only if the node has seen the message before it, and every node applies the stream in its order. A
 * change is made in the local store first, by whoever makes it, and found there: so it is in force here
 * at once, and sent as soon as NATS can be reached.
 */
export class SharedState implements AsyncDisposable {
  readonly #options: SharedStateOptions;
  readonly #base: SharedBase;
  readonly #stream: ChangeStream;
  readonly #kinds: ReadonlyMap<string, SharedKind>;
  readonly #over = new AbortController();
  /** What each store was like when all its changes were last sent. */
  readonly #sent = new Map<string, Sent>();
  /** Sizes of texts that NATS refuses, by kind and key, so that they are reported once. */
  readonly #refused = new Map<string, number>();
  #running: Promise<void> | undefined;
  #lane: Promise<unknown> = Promise.resolve();
  #isCaughtUp = false;
  #isUpToDate = false;
  #problem: string | undefined;

  private constructor(options: SharedStateOptions, base: SharedBase) {
    const { connection, subjects, kinds } = options;
    this.#options = options;
    this.#base = base;
    this.#kinds = new Map(kinds.map((kind) => [kind.name, kind]));
    this.#stream = new ChangeStream(connection, {
      name: subjects.shared,
      subjects: [subjects.change("*", "*")],
      perSubject: 1,
    });
  }

  /** Begins to share. It does not wait for NATS. */
  static async open(options: SharedStateOptions): Promise<SharedState> {
    const shared = new SharedState(options, await SharedBase.open(options.data));
    shared.#running = shared.#run();
    return shared;
  }

  get status(): SharedStatus {
    const problem = this.#problem;
    return { isUpToDate: this.#isUpToDate, ...(problem === undefined ? {} : { problem }) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#running;
    this.#base[Symbol.dispose]();
  }

  async #run(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      try {
        await this.#share();
      } catch (error) {
        if (signal.aborted) return;
        this.#isUpToDate = false;
        this.#failed(error);
      }
      await delay(RETRY_AFTER, undefined, { signal }).catch(() => {});
    }
  }

  #failed(error: unknown): void {
    const { message } = error as Error;
    if (message === this.#problem) return;
    this.#problem = message;
    this.#options.report("shared.interrupted", { error });
  }

  /** Reads and sends until something fails. */
  async #share(): Promise<void> {
    const { created, last } = await this.#stream.open();
    const how = await this.#base.begin(this.#stream.name, created);
    if (how === "joins") this.#sent.clear();
    const read = await this.#base.read([...this.#kinds.keys()]);
    const after = Math.min(...read.values());
    this.#isCaughtUp = after >= last;
    const round = new AbortController();
    const signal = AbortSignal.any([round.signal, this.#over.signal]);
    try {
      // Whichever fails ends the other.
      await Promise.all([this.#receive(after, last, signal), this.#send(signal)].map(ending));
    } finally {
      round.abort();
    }

    function ending(work: Promise<void>): Promise<void> {
      return work.finally(() => round.abort());
    }
  }

  async #receive(after: number, last: number, signal: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const messages = this.#stream.follow(after, AbortSignal.any([signal, failed.signal]));
    let next = handled(messages.next());
    try {
      for (let first = await next; first.done !== true; first = await next) {
        const batch = [first.value];
        next = handled(messages.next());
        // Whatever else is here already is applied in the same transaction.
        while (batch.length < MOST_AT_ONCE) {
          const more = await Promise.race([next, nextTurn()]);
          if (more === undefined || more.done === true) break;
          batch.push(more.value);
          next = handled(messages.next());
        }
        await this.#inLane(() => this.#apply(batch));
        if ((batch.at(-1)?.seq ?? 0) >= last) this.#isCaughtUp = true;
      }
    } finally {
      failed.abort();
      await next.catch(() => {});
    }
  }

  /** Applies messages of others in their order. */
  async #apply(messages: readonly Published[]): Promise<void> {
    const latest = new Map<string, Map<string, Published>>();
    const read = new Map<string, number>();
    for (const message of messages) {
      const [kind = "", key = ""] = message.subject.split(".").slice(3);
      // What a newer version shares is read after the upgrade.
      if (!this.#kinds.has(kind)) continue;
      const rows = latest.get(kind) ?? new Map<string, Published>();
      latest.set(kind, rows.set(key, message));
    }
    const end = messages.at(-1)?.seq ?? 0;
    for (const kind of this.#kinds.keys()) read.set(kind, end);
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
    await this.#base.note(agreed, read);
    if (failures.length > 0) throw failures[0];
  }

  async #applyRows(
    name: string,
    rows: ReadonlyMap<string, Published>,
  ): Promise<Map<string, Entry>> {
    const kind = this.#kinds.get(name);
    const known = await this.#base.entries(name, rows.keys());
    const isNew = ([key, { seq }]: [string, Published]): boolean => {
      return seq > (known.get(key)?.seq ?? 0);
    };
    const fresh = new Map([...rows].filter(isNew));
    const agreed = new Map<string, Entry>();
    if (kind === undefined || fresh.size === 0) return agreed;
    /** Rows that the others do not have so. */
    const unsent = new Map<string, string>();
    const changed = await kind.change([...fresh.keys()], (key, local) => {
      const shared = textOf(fresh.get(key));
      unsent.delete(key);
      if (local === shared || markOf(local) === (known.get(key)?.local ?? "")) return shared;
      const merged = kind.merge(local, shared);
      if (merged !== shared) unsent.set(key, markOf(shared));
      return merged;
    });
    for (const [key, { seq }] of fresh) {
      agreed.set(key, { seq, local: unsent.get(key) ?? markOf(changed.get(key)) });
    }
    this.#sent.set(name, { stamp: undefined, end: this.#sent.get(name)?.end });
    return agreed;
  }

  async #send(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#isCaughtUp) {
        const failures: unknown[] = [];
        for (const kind of this.#kinds.values()) {
          // A store that cannot be read does not hold up the others.
          await this.#inLane(() => this.#sendKind(kind)).catch((error) => failures.push(error));
        }
        if (failures.length > 0) throw failures[0];
        this.#isUpToDate = true;
        this.#problem = undefined;
      }
      await delay(LOOK_EVERY, undefined, { signal }).catch(() => {});
    }
  }

  /** Sends the rows of a store that were changed here. */
  async #sendKind(kind: SharedKind): Promise<void> {
    const stamp = await kind.stamp();
    const before = this.#sent.get(kind.name);
    if (before?.stamp !== undefined && before.stamp === stamp) return;
    const { rows, isWhole, isLost = false, end } = await kind.read(before?.end);
    if (isLost && (await this.#base.forget(kind.name))) {
      this.#sent.delete(kind.name);
      throw new Error(`The ${kind.name} store was lost: it is filled again from the other nodes`);
    }
    const known = await this.#base.entries(kind.name, isWhole ? undefined : rows.keys());
    const changed = new Map<string, SharedText>(
      [...rows].filter(([key, text]) => markOf(text) !== (known.get(key)?.local ?? "")),
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
      const sent = await Promise.all(
        some.map(([key, text]) => {
          const subject = this.#options.subjects.change(kind, key);
          return this.#stream.publish(subject, text ?? "", known.get(key)?.seq ?? 0);
        }),
      );
      const entries = some.flatMap(([key, text], index) => {
        const seq = sent[index];
        return seq === undefined ? [] : [[key, { seq, local: markOf(text) }] as const];
      });
      if (entries.length < some.length) isAll = false;
      await this.#base.note(new Map([[kind, new Map(entries)]]));
    }
    return isAll;
  }

  /** NATS refuses messages over its limit: such a row stays on this node. */
  #fits(kind: string, key: string, text = ""): boolean {
    const { connection, report } = this.#options;
    const size = Buffer.byteLength(text);
    const most = (connection.info?.max_payload ?? 1024 * 1024) - HEADERS;
    if (size <= most) return true;
    const id = `${kind}.${key}`;
    if (this.#refused.get(id) !== size) report("shared.too-large", { kind, key, size, most });
    this.#refused.set(id, size);
    return false;
  }

  /** One after the other: a row is not sent while it is changed. */
  #inLane<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#lane.then(work);
    this.#lane = result.catch(() => {});
    return result;
  }
}

/** A deleted row is an empty message. */
function textOf(message: Published | undefined): SharedText {
  return message === undefined || message.text === "" ? undefined : message.text;
}

function nextTurn(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(() => resolve(undefined)));
}

/** It may fail before somebody waits for it. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
