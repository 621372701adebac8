import { DeliverPolicy, type JetStreamClient } from "@nats-io/jetstream";

import { endWithReader, UNUSED_READER } from "../end-with-reader.ts";

/** Changes that are fetched ahead. */
const AHEAD = 1_000;
/** Milliseconds of one request for changes; twice in that time the server tells that it is there. */
const WAIT = 10_000;

/** The header that says that a key was deleted. */
const OPERATION = "KV-Operation";

export interface BucketChange {
  readonly key: string;
  /** Undefined if the key was deleted. */
  readonly value: Uint8Array | undefined;
  readonly revision: number;
}

export interface BucketWatch extends AsyncIterable<BucketChange> {
  /** Ends the iteration. */
  stop(): void;
}

/**
 * All entries of a key-value bucket, and then each change. The watch of NATS's own library keeps its
 * reader in the server for minutes after its process was killed, and after it was stopped.
 */
export async function watchBucket(client: JetStreamClient, bucket: string): Promise<BucketWatch> {
  const consumer = await client.consumers.get(`KV_${bucket}`, {
    deliver_policy: DeliverPolicy.LastPerSubject,
    inactive_threshold: UNUSED_READER,
  });
  const messages = await consumer.consume({ max_messages: AHEAD, expires: WAIT });
  endWithReader(messages);
  const prefix = `$KV.${bucket}.`.length;
  return {
    stop: () => messages.stop(),
    async *[Symbol.asyncIterator]() {
      try {
        for await (const { subject, headers, data, seq: revision } of messages) {
          const isDeleted = headers?.has(OPERATION) ?? false;
          yield { key: subject.slice(prefix), value: isDeleted ? undefined : data, revision };
        }
      } finally {
        messages.stop();
        await consumer.delete().catch(() => false);
      }
    },
  };
}
