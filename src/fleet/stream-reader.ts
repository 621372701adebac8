import {
  AckPolicy,
  type ConsumeOptions,
  type ConsumerConfig,
  jetstream,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  type JsMsg,
  type MsgRequest,
  type StreamConfig,
  type StreamInfo,
} from "@nats-io/jetstream";
import { nanos, type NatsConnection } from "@nats-io/nats-core";
import { untilAborted } from "../base/abort.ts";
import { background } from "../base/background.ts";
import { TrunklineError } from "../base/errors.ts";
import type { FleetConnection } from "./connection/connect.ts";

export type Stream = Partial<StreamConfig> & { readonly name: string };

/** JetStream's error where a server without a cluster is asked for more than one replica. */
const NO_CLUSTER = 10074;

/**
 * Finds a stream, and creates it if there is none. Whoever may not create streams, but may look at them,
 * only finds that it exists. One that exists is used as an operator has made it, except that it gets as
 * many replicas as are asked for: in a cluster so many servers keep each message.
 */
export async function ensureStream(
  manager: JetStreamManager,
  stream: Stream,
  replicas?: number,
): Promise<StreamInfo> {
  const { name } = stream;
  const found = await find(manager, name);
  try {
    if (found === undefined) {
      return await manager.streams.add({ ...stream, num_replicas: replicas ?? 1 });
    }
    if (replicas === undefined || found.config.num_replicas === replicas) return found;
    return await manager.streams.update(name, { ...found.config, num_replicas: replicas });
  } catch (error) {
    // Another node may have created it meanwhile.
    const now = found === undefined ? await find(manager, name) : undefined;
    if (now !== undefined) return now;
    throw cannot(found === undefined ? "create" : "change", name, error);
  }
}

async function find(manager: JetStreamManager, name: string): Promise<StreamInfo | undefined> {
  return await manager.streams.info(name).catch((error: unknown) => {
    if (isCode(error, JetStreamApiCodes.StreamNotFound)) return undefined;
    throw error;
  });
}

function cannot(verb: string, name: string, error: unknown): TrunklineError {
  const why = error instanceof Error ? error.message : String(error);
  const next = isCode(error, NO_CLUSTER)
    ? "Remove `fleet.replicas` from the configuration, or make the NATS servers a cluster"
    : "If it may not do that, start a gateway first, or create it yourself";
  const says = `Cannot ${verb} the stream '${name}' in NATS: ${why}. ${next}.`;
  return new TrunklineError("unavailable", says, { cause: error });
}

/** Whether JetStream has refused something for this reason. */
export function isCode(error: unknown, code: number): boolean {
  return error instanceof JetStreamApiError && error.code === code;
}

/** Asks for the first message from a sequence on whose subject fits. */
export function firstFrom(seq: number, subject: string): MsgRequest {
  // NATS 2.9 knows this, and the types of its library do not.
  const query: MsgRequest & { readonly next_by_subj: string } = { seq, next_by_subj: subject };
  return query;
}

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
type ReadPosition = Pick<
  Partial<ConsumerConfig>,
  "deliver_policy" | "opt_start_seq" | "filter_subject" | "headers_only"
>;

/**
 * Reads messages of a stream in order, each once. It ends, without an error, where that is no longer
 * certain: the connection was lost, the server was silent, or a message is missing. Whoever reads then
 * begins anew. (The library's own ordered readers replace themselves instead, and leave those in the
 * server for minutes that nobody uses.)
 */
export async function openReader(
  nats: NatsConnection,
  stream: string,
  reading: ReadPosition,
  options: ConsumeOptions,
) {
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
  const lost = Promise.withResolvers<void>();
  const endWith = async (told: Statuses, types: ReadonlySet<string>): Promise<void> => {
    for await (const { type } of told) {
      if (!types.has(type)) continue;
      lost.resolve();
      messages.stop();
    }
  };
  const statuses: Statuses = nats.status();
  background(endWith(statuses, LOST), "Watching the connection of a reader");
  background(endWith(messages.status(), SILENT), "Watching a reader of a stream");
  return {
    /** Messages that the reader will deliver in any case, when it was opened. */
    pending: info.num_pending,
    /** Ends the iteration. */
    stop: () => messages.stop(),
    async *[Symbol.asyncIterator](): AsyncGenerator<JsMsg> {
      let count = 0;
      try {
        for await (const message of messages) {
          if (message.info.deliverySequence !== ++count) return;
          yield message;
        }
      } catch {
        // The server has deleted the reader or the stream. Opening the next reader tells which.
      }
    },
    async [Symbol.asyncDispose](): Promise<void> {
      messages.stop();
      const deleting = consumer.delete().catch(() => false);
      // Without a connection it would wait for nothing. The server forgets the reader by itself.
      await Promise.race([deleting, lost.promise]);
      statuses.stop?.();
    },
  };
}

interface FollowOptions {
  readonly connection: FleetConnection;
  /** Opens a reader, the first one and each further one. */
  readonly open: () => ReturnType<typeof openReader>;
  readonly heard: (message: JsMsg) => void;
  readonly failed?: (error: unknown) => void;
}

/** Reads a stream until it is disposed of: where a reader ends, the next one begins. */
export function followStream({ connection, open, heard, failed }: FollowOptions) {
  const over = new AbortController();
  const { signal } = over;
  let current: Awaited<ReturnType<typeof openReader>> | undefined;

  const follow = async (): Promise<void> => {
    for (let attempt = 1; !signal.aborted && !connection.nats.isClosed(); attempt++) {
      try {
        await using reader = await connection.ask(open);
        current = reader;
        attempt = 0;
        if (signal.aborted) return;
        for await (const message of reader) heard(message);
      } catch (error) {
        failed?.(error);
      }
      await untilAborted(connection.pause(attempt + 1), signal).catch(() => {});
    }
  };
  const following = follow();
  background(following, "Following a stream");
  /** Has the next reader begin. */
  const restart = (): void => current?.stop();
  return {
    restart,
    async [Symbol.asyncDispose](): Promise<void> {
      over.abort();
      restart();
      await following;
    },
  };
}
