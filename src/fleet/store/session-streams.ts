import {
  DiscardPolicy,
  jetstream,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { TrunklineError } from "../../base/errors.ts";
import type { FleetConnection } from "../connection/connect.ts";
import { ensureStream, type Stream } from "../stream-reader.ts";
import { streamJournal } from "../ownership/journal.ts";
import { kvRecords, retryUnanswered } from "../ownership/session-entry.ts";
import type { Subjects } from "../subjects.ts";
import { SessionMirror, type SessionMirrorOptions } from "./session-mirror.ts";

/** Nanoseconds for which the server recognizes a message that it has stored already. */
const DUPLICATES = 2 * 60 * 1e9;

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

/** Nanoseconds for which is kept what was used: sessions that are continued later begin anew. */
const BUDGETS_KEPT = 90 * 24 * 60 * 60 * 1e9;

/** The stream that is behind the bucket of budgets. */
export function budgetStream({ budgets }: Subjects): Stream {
  return {
    ...KEPT,
    name: `KV_${budgets}`,
    subjects: [`$KV.${budgets}.>`],
    max_msgs_per_subject: 1,
    max_age: BUDGETS_KEPT,
    allow_rollup_hdrs: true,
  };
}

/** Creates the streams of sessions that do not exist. */
async function ensureSessionStreams(
  manager: JetStreamManager,
  { subjects, replicas }: FleetConnection,
): Promise<void> {
  const made = await Promise.allSettled(
    sessionStreams(subjects).map((stream) => ensureStream(manager, stream, replicas)),
  );
  for (const each of made) if (each.status === "rejected") throw each.reason;
  // Nodes whose permissions are those of an earlier version work without it, until somebody has a budget.
  await ensureStream(manager, budgetStream(subjects), replicas).catch(() => {});
}

/** Bytes of events in one message. */
const MOST_BYTES = 256 * 1024;
/** Bytes of a message that its headers take. */
const HEADERS = 2048;
/** Milliseconds until an answer counts as lost. */
const TIMEOUT = 3_000;

export type SessionStreams = Awaited<ReturnType<typeof openSessionStreams>>;

/** Opens what NATS has of the sessions of a pool. */
export async function openSessionStreams(connection: FleetConnection) {
  const { nats, subjects, pause } = connection;
  const client = jetstream(nats, { timeout: TIMEOUT });
  const manager = await jetstreamManager(nats, { timeout: TIMEOUT, checkAPI: false });
  const ensure = (): Promise<void> => ensureSessionStreams(manager, connection);
  try {
    await ensure();
  } catch (error) {
    if (error instanceof TrunklineError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    const says = `Cannot use JetStream of NATS for the pool '${subjects.pool}': ${why}.`;
    throw new TrunklineError("unavailable", says, { cause: error });
  }
  // NATS may come back without its data.
  const stopWatching = connection.onChange(() => {
    if (connection.isConnected) retryUnanswered(pause, ensure).catch(() => {});
  });
  const most = connection.maxPayload - HEADERS;
  // Without "direct" the leader answers, which knows every write that was acknowledged.
  const kv = await new Kvm(client).open(subjects.sessions, { allow_direct: false });
  const records = kvRecords(kv, connection, most);
  const journal = streamJournal({ connection, client, manager });
  const stream = bucketStream(subjects);
  const lastRevision = async (): Promise<number> => {
    const { state } = await connection.ask(() => manager.streams.info(stream));
    return state.last_seq;
  };
  return {
    connection,
    records,
    journal,
    /** Bytes of events that fit into one message. */
    mostBytes: Math.min(MOST_BYTES, most),
    /** Opens a copy of all entries, for lists. */
    openMirror: (options: Pick<SessionMirrorOptions, "isAlive" | "log">) =>
      new SessionMirror({ ...options, connection, lastRevision }),
    /** The entry of a session. Waits a while if NATS does not answer. */
    find: async (id: string) => (await retryUnanswered(pause, () => records.get(id)))?.entry,
    /** The last message of a session. Waits a while if NATS does not answer. */
    last: (id: string) => retryUnanswered(pause, () => journal.last(id)),
    [Symbol.dispose]: stopWatching,
  };
}
