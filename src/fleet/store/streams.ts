import {
  DiscardPolicy,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
} from "@nats-io/jetstream";

import { ensureStream, type Stream } from "../ensure-stream.ts";
import type { Subjects } from "../subjects.ts";

/** Nanoseconds for which the server recognizes a message that it has stored already. */
const DUPLICATES = 2 * 60 * 1e9;

export interface StreamOptions {
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
  // What was acknowledged is never dropped to make room.
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
export async function ensureSessionStreams(
  manager: JetStreamManager,
  subjects: Subjects,
  { replicas }: StreamOptions = {},
): Promise<void> {
  const made = await Promise.allSettled(
    sessionStreams(subjects).map((stream) => ensureStream(manager, stream, replicas)),
  );
  for (const each of made) if (each.status === "rejected") throw each.reason;
}
