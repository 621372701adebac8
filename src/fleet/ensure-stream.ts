import {
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  type MsgRequest,
  type StreamConfig,
  type StreamInfo,
} from "@nats-io/jetstream";

import { TrunklineError } from "../base/errors.ts";

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
  try {
    return await manager.streams.info(name);
  } catch (error) {
    if (isCode(error, JetStreamApiCodes.StreamNotFound)) return undefined;
    throw error;
  }
}

function cannot(verb: string, name: string, error: unknown): TrunklineError {
  const why = error instanceof Error ? error.message : String(error);
  const next = isCode(error, NO_CLUSTER)
    ? "Remove `fleet.replicas` from the configuration, or make the NATS servers a cluster"
    : "If it may not do that, start a gateway first, or create it yourself";
  const says = `Cannot ${verb} the stream '${name}' in NATS: ${why}. ${next}.`;
  return new TrunklineError("unavailable", says, { cause: error });
}

function isCode(error: unknown, code: number): boolean {
  return error instanceof JetStreamApiError && error.code === code;
}

/** Asks for the first message from a sequence on whose subject fits. */
export function firstFrom(seq: number, subject: string): MsgRequest {
  // NATS 2.9 knows this, and the types of its library do not.
  const query: MsgRequest & { readonly next_by_subj: string } = { seq, next_by_subj: subject };
  return query;
}
