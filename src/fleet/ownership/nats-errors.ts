import { JetStreamApiError } from "@nats-io/jetstream";

import { Outdated, Refused } from "./records.ts";

/** "wrong last sequence", in both forms. */
const WRONG_SEQUENCE: ReadonlySet<number> = new Set([10071, 10164]);

/** Answers of a server that starts or elects a leader: no peers, not available, not leader, not enabled. */
const PASSING: ReadonlySet<number> = new Set([10005, 10008, 10009, 10039, 10076]);

/** What an error of a write to JetStream means for who holds a session. */
export function toProtocolError(error: unknown): unknown {
  if (!(error instanceof JetStreamApiError) || PASSING.has(error.code)) return error;
  if (WRONG_SEQUENCE.has(error.code)) return new Outdated(error.message, { cause: error });
  return new Refused(`NATS refused it: ${error.message}.`, { cause: error });
}
