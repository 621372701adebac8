import {
  AckPolicy,
  type ConsumeOptions,
  type Consumer,
  type ConsumerConfig,
  type ConsumerMessages,
  jetstream,
  type JsMsg,
} from "@nats-io/jetstream";
import { nanos, type NatsConnection } from "@nats-io/nats-core";

import { background } from "../base/background.ts";

/**
 * Milliseconds after which the server forgets a reader that asks for nothing more, such as one whose
 * process was killed. Requests for messages end before that.
 */
export const UNUSED_READER = 20_000;

/** Milliseconds until a request counts as lost. */
const TIMEOUT = 3_000;

/** What a connection tells that was lost; its server may have been restarted, and know no readers. */
const LOST: ReadonlySet<string> = new Set(["disconnect", "reconnect"]);
const SILENT: ReadonlySet<string> = new Set(["heartbeats_missed"]);

type Statuses = AsyncIterable<{ readonly type: string }> & { stop?: () => void };

/** Where to begin, and what is read. */
export type Reading = Pick<
  Partial<ConsumerConfig>,
  "deliver_policy" | "opt_start_seq" | "filter_subject" | "headers_only"
>;

/**
 * Reads messages of a stream in order, each once. It ends, without an error, where that is no longer
 * certain: the connection was lost, the server was silent, or a message is missing. Whoever reads then
 * begins anew. (The library's own ordered readers replace themselves instead, and leave those in the
 * server for minutes that nobody uses.)
 */
export class StreamReader implements AsyncIterable<JsMsg>, AsyncDisposable {
  readonly #consumer: Consumer;
  readonly #messages: ConsumerMessages;
  readonly #statuses: Statuses;
  readonly #lost = Promise.withResolvers<void>();
  /** Messages that the reader will deliver in any case, when it was opened. */
  readonly pending: number;

  private constructor(
    nats: NatsConnection,
    consumer: Consumer,
    messages: ConsumerMessages,
    pending: number,
  ) {
    this.#consumer = consumer;
    this.#messages = messages;
    this.pending = pending;
    this.#statuses = nats.status();
    background(this.#endWith(this.#statuses, LOST), "Watching the connection of a reader");
    background(this.#endWith(messages.status(), SILENT), "Watching a reader of a stream");
  }

  static async open(
    nats: NatsConnection,
    stream: string,
    reading: Reading,
    options: ConsumeOptions,
  ): Promise<StreamReader> {
    const client = jetstream(nats, { timeout: TIMEOUT });
    const manager = await client.jetstreamManager(false);
    const info = await manager.consumers.add(stream, {
      // Without a filter the server refuses to begin with the last message of each subject.
      filter_subject: ">",
      ...reading,
      name: crypto.randomUUID(),
      ack_policy: AckPolicy.None,
      inactive_threshold: nanos(UNUSED_READER),
      num_replicas: 1,
      mem_storage: true,
    });
    const consumer = client.consumers.getConsumerFromInfo(info);
    const messages = await consumer.consume({ ...options, abort_on_missing_resource: true });
    return new StreamReader(nats, consumer, messages, info.num_pending);
  }

  /** Ends the iteration. */
  stop(): void {
    this.#messages.stop();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<JsMsg> {
    let count = 0;
    try {
      for await (const message of this.#messages) {
        if (message.info.deliverySequence !== ++count) return;
        yield message;
      }
    } catch {
      // The server has deleted the reader or the stream. Opening the next reader tells which.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#messages.stop();
    const deleting = this.#consumer.delete().catch(() => false);
    // Without a connection it would wait for nothing. The server forgets the reader by itself.
    await Promise.race([deleting, this.#lost.promise]);
    this.#statuses.stop?.();
  }

  async #endWith(statuses: Statuses, types: ReadonlySet<string>): Promise<void> {
    for await (const { type } of statuses) {
      if (!types.has(type)) continue;
      this.#lost.resolve();
      this.#messages.stop();
    }
  }
}
