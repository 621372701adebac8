import { DeliverPolicy } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";

import { StreamReader } from "../stream-reader.ts";

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
 * All entries of a key-value bucket, and then each change, until it ends: see `StreamReader`. What is
 * deleted is told, also where nobody was told of it before.
 */
export async function watchBucket(nats: NatsConnection, bucket: string): Promise<BucketWatch> {
  const reading = { deliver_policy: DeliverPolicy.LastPerSubject };
  const options = { max_messages: AHEAD, expires: WAIT };
  const reader = await StreamReader.open(nats, `KV_${bucket}`, reading, options);
  const prefix = `$KV.${bucket}.`;
  return {
    stop: () => reader.stop(),
    async *[Symbol.asyncIterator]() {
      await using _ends = reader;
      for await (const { subject, headers, data, seq: revision } of reader) {
        // JetStream may have delivered it here from another stream, with the subject that it had there.
        if (!subject.startsWith(prefix)) continue;
        const isDeleted = headers?.has(OPERATION) ?? false;
        yield { key: subject.slice(prefix.length), value: isDeleted ? undefined : data, revision };
      }
    },
  };
}
