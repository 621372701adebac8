import {
  DiscardPolicy,
  jetstream,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/nats-core";
import { TrunklineError } from "../../base/errors.ts";
import { ensureStream, type Stream } from "../stream-reader.ts";
import { StreamJournal } from "../ownership/journal.ts";
import { NatsLink } from "../ownership/nats-link.ts";
import { kvRecords, retryUnanswered } from "../ownership/session-entry.ts";
import type { Subjects } from "../subjects.ts";
import { SessionMirror, type SessionMirrorOptions, watchBucket } from "./session-mirror.ts";

/** Nanoseconds for which the server recognizes a message that it has stored already. */
const DUPLICATES = 2 * 60 * 1e9;

interface StreamOptions {
  /** How many servers of a cluster keep each message; where it is left out, streams stay as they are. */
  readonly replicas?: number | undefined;
}

/** The stream that is behind the bucket of sessions. */
export function bucketStream(subjects: Subjects): string {
  return `KV_${subjects.sessions}`;
}

/** What all streams of sessions have in common. */
const KEPT = {
  retention: RetentionPolicy.Limits,
  storage: StorageType.File,
  // Never drop acknowledged messages to make room.
  discard: DiscardPolicy.New,
} as const;

/** The streams of the events of sessions, the one of the bucket with their entries, and the checkpoints. */
function sessionStreams(subjects: Subjects): Stream[] {
  return [
    ...subjects.eventStreams.map((name, at) => ({
      ...KEPT,
      name,
      subjects: [subjects.eventsIn(at)],
      duplicate_window: DUPLICATES,
    })),
    {
      ...KEPT,
      name: bucketStream(subjects),
      subjects: [`$KV.${subjects.sessions}.>`],
      max_msgs_per_subject: 1,
      allow_rollup_hdrs: true,
    },
    checkpointStream(subjects),
  ];
}

/** The stream that is behind the object store of checkpoints, as its library expects it. */
export function checkpointStream({ checkpoints }: Subjects): Stream {
  return {
    ...KEPT,
    name: `OBJ_${checkpoints}`,
    subjects: [`$O.${checkpoints}.C.>`, `$O.${checkpoints}.M.>`],
    allow_rollup_hdrs: true,
    // A "direct" answer is what was stored, byte by byte: a rogue worker could have it sent to any subject.
    allow_direct: false,
  };
}

/** Creates the streams of sessions that do not exist. */
async function ensureSessionStreams(
  manager: JetStreamManager,
  subjects: Subjects,
  { replicas }: StreamOptions = {},
): Promise<void> {
  const made = await Promise.allSettled(
    sessionStreams(subjects).map((stream) => ensureStream(manager, stream, replicas)),
  );
  for (const each of made) if (each.status === "rejected") throw each.reason;
}

/** Bytes of events in one message. */
const MOST_BYTES = 256 * 1024;
/** Bytes of a message that its headers take. */
const HEADERS = 2048;
/** Milliseconds until an answer counts as lost. */
const TIMEOUT = 3_000;

export interface SessionStreamsOptions extends StreamOptions {
  readonly connection: NatsConnection;
  readonly subjects: Subjects;
}

export type SessionStreams = Awaited<ReturnType<typeof openSessionStreams>>;

/** Opens what NATS has of the sessions of a pool. */
export async function openSessionStreams(options: SessionStreamsOptions) {
  const { connection, subjects } = options;
  using opening = new DisposableStack();
  const link = opening.use(new NatsLink(connection));
  const client = jetstream(connection, { timeout: TIMEOUT });
  const manager = await jetstreamManager(connection, { timeout: TIMEOUT, checkAPI: false });
  try {
    await ensureSessionStreams(manager, subjects, options);
  } catch (error) {
    if (error instanceof TrunklineError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    const says = `Cannot use JetStream of NATS for the pool '${subjects.pool}': ${why}.`;
    throw new TrunklineError("unavailable", says, { cause: error });
  }
  // NATS may come back without its data.
  opening.use(
    link.onReconnect(() => {
      const ensure = (): Promise<void> => ensureSessionStreams(manager, subjects, options);
      retryUnanswered(link.pause, ensure).catch(() => {});
    }),
  );
  const payload = connection.info?.max_payload ?? MOST_BYTES;
  // Without "direct" the leader answers, which knows every write that was acknowledged.
  const kv = await new Kvm(client).open(subjects.sessions, { allow_direct: false });
  const records = kvRecords(kv, link, payload - HEADERS);
  const journal = new StreamJournal({ connection, client, manager, subjects, link });
  const stream = bucketStream(subjects);
  const lastRevision = async (): Promise<number> => {
    const { state } = await link.ask(() => manager.streams.info(stream));
    return state.last_seq;
  };
  opening.move();
  return {
    link,
    records,
    journal,
    /** Bytes of events that fit into one message. */
    mostBytes: Math.min(MOST_BYTES, payload - HEADERS),
    /** Opens a copy of all entries, for lists. */
    openMirror: ({ isAlive, log }: Pick<SessionMirrorOptions, "isAlive" | "log">) =>
      SessionMirror.open({
        watch: () => watchBucket(connection, subjects.sessions),
        ...{ lastRevision, isAlive, link, log },
      }),
    /** The entry of a session. Waits a while if NATS does not answer. */
    find: async (id: string) => (await retryUnanswered(link.pause, () => records.get(id)))?.entry,
    /** The last message of a session. Waits a while if NATS does not answer. */
    last: (id: string) => retryUnanswered(link.pause, () => journal.last(id)),
    [Symbol.dispose]: () => link[Symbol.dispose](),
  };
}
