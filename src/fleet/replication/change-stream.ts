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

/** Codes of JetStream's errors. */
const NO_STREAM = 10059;
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

  constructor(connection: NatsConnection, settings: ChangeStreamSettings) {
    this.name = settings.name;
    this.#connection = connection;
    this.#settings = settings;
  }

  /** The number of its last message. Creates the stream if there is none. One that an operator has created is used as it is. */
  async open(): Promise<{ readonly created: string; readonly last: number }> {
    const manager = await jetstreamManager(this.#connection, OPTIONS);
    const info = await manager.streams.info(this.name).catch((error: unknown) => {
      if (!isCode(error, NO_STREAM)) throw error;
      const { name, subjects, perSubject = -1, maxBytes = -1 } = this.#settings;
      return manager.streams.add({
        name,
        subjects,
        retention: RetentionPolicy.Limits,
        storage: StorageType.File,
        discard: DiscardPolicy.Old,
        max_msgs_per_subject: perSubject,
        max_bytes: maxBytes,
      });
    });
    const { created, state } = info;
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

  /** All messages after one, in order, until the signal. Throws if the stream is gone. */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<Published> {
    const consumer = await jetstream(this.#connection, OPTIONS).consumers.get(this.name, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: after + 1,
    });
    if (signal.aborted) return;
    const messages = await consumer.consume({
      max_messages: 256,
      expires: PULL,
      idle_heartbeat: HEARTBEAT,
      abort_on_missing_resource: true,
    });
    const stop = (): void => messages.stop();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    try {
      for await (const message of messages) {
        yield { subject: message.subject, data: message.data, seq: message.seq };
      }
    } finally {
      signal.removeEventListener("abort", stop);
      messages.stop();
      await consumer.delete().catch(() => false);
    }
  }
}

function isCode(error: unknown, code: number): boolean {
  return error instanceof JetStreamApiError && error.code === code;
}
