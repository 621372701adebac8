import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "@nats-io/jetstream";

import { TrunklineError } from "../../base/errors.ts";
import type { Subjects } from "../subjects.ts";

/** Nanoseconds for which the server recognizes a message that it has stored already. */
const DUPLICATES = 2 * 60 * 1e9;

/** Of a cluster this many servers keep each message; without a cluster there is one. */
export interface StreamOptions {
  readonly replicas?: number;
}

/** The stream that is behind the bucket of sessions. */
export function bucketStream(subjects: Subjects): string {
  return `KV_${subjects.sessions}`;
}

/** The streams of the events of sessions, and the one of the bucket with their entries. */
export function sessionStreams(subjects: Subjects, { replicas = 1 }: StreamOptions = {}) {
  const kept = {
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    // What was acknowledged is never dropped to make room.
    discard: DiscardPolicy.New,
    num_replicas: replicas,
  };
  return [
    ...subjects.eventStreams.map((name, at) => ({
      ...kept,
      name,
      subjects: [subjects.eventsIn(at)],
      duplicate_window: DUPLICATES,
    })),
    {
      ...kept,
      name: bucketStream(subjects),
      subjects: [`$KV.${subjects.sessions}.>`],
      max_msgs_per_subject: 1,
      allow_rollup_hdrs: true,
    },
  ] satisfies (Partial<StreamConfig> & { name: string })[];
}

/**
 * Creates the streams of sessions that do not exist. Whoever may not create streams, but may look at
 * them, only finds that they exist.
 */
export async function ensureSessionStreams(
  manager: JetStreamManager,
  subjects: Subjects,
  options: StreamOptions = {},
): Promise<void> {
  await Promise.all(sessionStreams(subjects, options).map((stream) => ensure(manager, stream)));
}

async function ensure(
  manager: JetStreamManager,
  stream: Partial<StreamConfig> & { name: string },
): Promise<void> {
  if (await exists(manager, stream.name)) return;
  try {
    await manager.streams.add(stream);
  } catch (error) {
    // Another node may have created it meanwhile, perhaps with more replicas.
    if (await exists(manager, stream.name)) return;
    const why = error instanceof Error ? error.message : String(error);
    const next = "Create it, or give these credentials the right to create streams";
    const says = `Cannot create the stream '${stream.name}' in NATS: ${why}. ${next}.`;
    throw new TrunklineError("unavailable", says, { cause: error });
  }
}

async function exists(manager: JetStreamManager, name: string): Promise<boolean> {
  try {
    await manager.streams.info(name);
    return true;
  } catch (error) {
    const isMissing =
      error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;
    if (isMissing) return false;
    throw error;
  }
}
