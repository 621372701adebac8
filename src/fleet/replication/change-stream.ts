import {
  DeliverPolicy,
  DiscardPolicy,
  jetstream,
  JetStreamApiError,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";

import { ensureStream } from "../ensure-stream.ts";
import { StreamReader } from "../stream-reader.ts";

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
  /** How many servers of a cluster keep each message; where it is left out, the stream stays as it is. */
  readonly replicas?: number | undefined;
}

export interface Published {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly seq: number;
}

/** A stream that every node writes and reads. */
export class ChangeStream {
  readonly name: string;
  readonly #connection: NatsConnection;
  readonly #settings: ChangeStreamSettings;
  #prefix = "";

  constructor(connection: NatsConnection, settings: ChangeStreamSettings) {
    this.name = settings.name;
    this.#connection = connection;
    this.#settings = settings;
  }

  /** What its subjects begin with, up to the first wildcard. Known once it is open. */
  get prefix(): string {
    return this.#prefix;
  }

  /** The number of its last message. Creates the stream if there is none. */
  async open(): Promise<{ readonly created: string; readonly last: number }> {
    const manager = await jetstreamManager(this.#connection, OPTIONS);
    const { name, subjects, perSubject = -1, maxBytes = -1, replicas } = this.#settings;
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
    this.#prefix = config.subjects[0]?.replace(/[*>].*/, "") ?? "";
    return { created, last: state.messages === 0 ? 0 : state.last_seq };
  }

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
      const { seq } = await jetstream(this.#connection, OPTIONS).publish(subject, data, {
        ...(after === undefined ? {} : { expect: { lastSubjectSequence: after } }),
      });
      return seq;
    } catch (error) {
      if (isCode(error, WRONG_LAST_SEQUENCE)) return undefined;
      throw error;
    }
  }

  /**
   * All messages after one, in order, until the signal, or until others may be missing. Throws if the
   * stream is gone. A message that JetStream delivered here from another stream keeps the subject that it
   * had there: such messages are not from nodes that may write to this stream, so their subjects are empty.
   */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<Published> {
    const reading = { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: after + 1 };
    const options = { max_messages: 256, expires: PULL, idle_heartbeat: HEARTBEAT };
    await using reader = await StreamReader.open(this.#connection, this.name, reading, options);
    const stop = (): void => reader.stop();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    try {
      for await (const { subject, data, seq } of reader) {
        yield { subject: subject.startsWith(this.#prefix) ? subject : "", data, seq };
      }
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }
}

function isCode(error: unknown, code: number): boolean {
  return error instanceof JetStreamApiError && error.code === code;
}
