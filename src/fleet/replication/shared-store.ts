import { nextTurn } from "../../base/event-loop.ts";
import { TaskQueue } from "../../base/limit/task-queue.ts";
import { addAbortListener } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import {
  DeliverPolicy,
  DiscardPolicy,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "@nats-io/jetstream";
import type { FleetConnection } from "../connection/connect.ts";
import { ensureStream, isCode, openReader } from "../stream-reader.ts";
import type { SharedBase } from "./shared-base.ts";

/** JetStream's error where another message of the subject came first. */
const WRONG_LAST_SEQUENCE = 10071;

/** Milliseconds until a silent server is noticed; a server that was restarted has forgotten the reader. */
const HEARTBEAT = 1_000;
const PULL = 5_000;
/** Milliseconds until a request counts as lost. It may still arrive, so changes have a condition. */
const OPTIONS = { timeout: 1_000, checkAPI: false } as const;

export interface ChangeStreamSettings extends Pick<StreamConfig, "name" | "subjects"> {
  /** Keeps only so many messages of each subject. */
  readonly perSubject?: number;
  /** Bytes in all, after which the oldest messages are dropped. */
  readonly maxBytes?: number;
}

export interface PublishedMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly seq: number;
}

export type ChangeStream = ReturnType<typeof changeStream>;

/** A stream that every node writes and reads. */
export function changeStream(connection: FleetConnection, settings: ChangeStreamSettings) {
  const { name, subjects, perSubject = -1, maxBytes = -1 } = settings;
  const { nats, replicas } = connection;
  let prefix = "";
  return {
    name,
    /** What its subjects begin with, up to the first wildcard. Known once it is open. */
    get prefix(): string {
      return prefix;
    },

    /** The number of its last message. Creates the stream if there is none. */
    async open(): Promise<{ readonly created: string; readonly last: number }> {
      const manager = await jetstreamManager(nats, OPTIONS);
      const stream = {
        name,
        subjects,
        retention: RetentionPolicy.Limits,
        storage: StorageType.File,
        discard: DiscardPolicy.Old,
        max_msgs_per_subject: perSubject,
        max_bytes: maxBytes,
      };
      const { created, state, config } = await ensureStream(manager, stream, replicas);
      prefix = config.subjects[0]?.replace(/[*>].*/, "") ?? "";
      return { created, last: state.messages === 0 ? 0 : state.last_seq };
    },

    /**
     * Publishes a message, and returns its number. With `after` it must come right after that message of
     * its subject: undefined if another one came first.
     */
    async publish(
      subject: string,
      data: string | Uint8Array,
      after?: number,
    ): Promise<number | undefined> {
      try {
        const { seq } = await jetstream(nats, OPTIONS).publish(subject, data, {
          ...(after === undefined ? {} : { expect: { lastSubjectSequence: after } }),
        });
        return seq;
      } catch (error) {
        if (isCode(error, WRONG_LAST_SEQUENCE)) return undefined;
        throw error;
      }
    },

    /**
     * All messages after one, in order, until the signal, or until others may be missing. Throws if the
     * stream is gone. A message that JetStream delivered here from another stream keeps the subject that it
     * had there: such messages are not from nodes that may write to this stream, so their subjects are empty.
     */
    async *follow(after: number, signal: AbortSignal): AsyncGenerator<PublishedMessage> {
      const reading = { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: after + 1 };
      const options = { max_messages: 256, expires: PULL, idle_heartbeat: HEARTBEAT };
      await using reader = await openReader(nats, name, reading, options);
      using _stop = addAbortListener(signal, () => reader.stop());
      for await (const { subject, data, seq } of reader) {
        yield { subject: subject.startsWith(prefix) ? subject : "", data, seq };
      }
    },
  };
}

/** Milliseconds between two looks at what is to be sent. */
const LOOK_EVERY = 200;
/** Milliseconds until NATS is tried again. */
const RETRY_AFTER = 500;
/** Messages that are applied in one transaction, which blocks this process. */
const MOST_AT_ONCE = 32;

export interface SharedStoreOptions {
  readonly connection: FleetConnection;
  /** The data folder. Only one process of a folder may share it at a time. */
  readonly data: string;
  readonly report: (event: string, fields: Record<string, unknown>) => void;
}

/** The state of the sharing, for people. */
export interface SharingStatus {
  /** This node has what the others had when it joined, and the others have what it had. */
  readonly isUpToDate: boolean;
  /** Why changes cannot be sent or read; undefined while they can. */
  readonly problem?: string;
}

/**
 * What all nodes of a pool share, in one stream. Reads the stream and sends to it, as long as it lives: a
 * failure of NATS or of a store is retried.
 */
export abstract class SharedStore implements AsyncDisposable {
  protected readonly base: SharedBase;
  protected readonly stream: ChangeStream;
  readonly #report: SharedStoreOptions["report"];
  readonly #over = new AbortController();
  #running: Promise<void> | undefined;
  /** Sending and applying never overlap. */
  readonly #queue = new TaskQueue();
  #isCaughtUp = false;
  #isUpToDate = false;
  #problem: string | undefined;

  protected constructor(
    { connection, report }: SharedStoreOptions,
    base: SharedBase,
    settings: ChangeStreamSettings,
  ) {
    this.base = base;
    this.#report = report;
    this.stream = changeStream(connection, settings);
  }

  /** The last message that was applied, of the stream that was created then. */
  protected abstract begin(created: string): Promise<number>;
  /** Applies messages in their order. Never at the same time as `send`. */
  protected abstract apply(messages: readonly PublishedMessage[]): Promise<void>;
  /** Sends what is to be sent. Not called before all that was there at the beginning is applied. */
  protected abstract send(): Promise<void>;

  /** Begins to share. It does not wait for NATS. */
  start(): this {
    this.#running = this.#run();
    return this;
  }

  get status(): SharingStatus {
    const problem = this.#problem;
    return { isUpToDate: this.#isUpToDate, ...(problem === undefined ? {} : { problem }) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#running;
    this.base[Symbol.dispose]();
  }

  async #run(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      try {
        await this.#share();
      } catch (error) {
        this.#isUpToDate = false;
        if (!signal.aborted) this.#failed(error);
      }
      await pause(RETRY_AFTER, signal);
    }
  }

  #failed(error: unknown): void {
    const { message } = error as Error;
    if (message === this.#problem) return;
    this.#problem = message;
    this.#report("shared.interrupted", { stream: this.stream.name, error });
  }

  /** Reads and sends until one of them fails, which ends the other. */
  async #share(): Promise<void> {
    const { created, last } = await this.stream.open();
    const after = await this.begin(created);
    this.#isCaughtUp = after >= last;
    const round = new AbortController();
    const signal = AbortSignal.any([round.signal, this.#over.signal]);
    const both = [this.#receive(after, last, signal), this.#send(signal)];
    const ended = await Promise.allSettled(both.map((work) => work.finally(() => round.abort())));
    for (const end of ended) if (end.status === "rejected") throw end.reason;
  }

  async #receive(after: number, last: number, signal: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const both = AbortSignal.any([signal, failed.signal]);
    const messages = this.stream.follow(after, both);
    let next = handled(messages.next());
    try {
      for (let first = await next; first.done !== true; first = await next) {
        const batch = [first.value];
        next = handled(messages.next());
        // Messages that have already arrived are applied in the same transaction.
        while (batch.length < MOST_AT_ONCE) {
          const more = await Promise.race([next, nextTurn()]);
          if (more === undefined || more.done === true) break;
          batch.push(more.value);
          next = handled(messages.next());
        }
        await this.#queue.run(() => this.apply(batch));
        if ((batch.at(-1)?.seq ?? 0) >= last) this.#isCaughtUp = true;
      }
    } finally {
      failed.abort();
      await next.catch(() => {});
    }
  }

  async #send(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#isCaughtUp) {
        await this.#queue.run(() => this.send());
        this.#isUpToDate = true;
        this.#problem = undefined;
      }
      await pause(LOOK_EVERY, signal);
    }
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal }).catch(() => {});
}

/** Marks a rejection as handled: the promise may fail before it is awaited. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
