/**
 * The part of the dashboard's API that is about the fleet: types only. What holds for every endpoint is
 * in `api.ts`. Only a gateway that belongs to a fleet has it.
 */

import type { Member, QueuedRequests } from "../../fleet/members/members.ts";

/** `GET /api/fleet`, for those who may see everything: the pool as this gateway sees it. */
export interface FleetState {
  readonly pool: string;
  /** The name of this gateway. */
  readonly self: string;
  /** Whether there is a connection to NATS. Without one, the rest is as it was before. */
  readonly isConnected: boolean;
  /** By name. */
  readonly nodes: readonly FleetNode[];
  /** Requests that wait for a free slot, by the labels that they ask for. */
  readonly waiting: readonly QueuedRequests[];
  /** Moves of sessions that this gateway noticed, the latest first; only the last hundred. */
  readonly moves: readonly FleetMove[];
}

export interface FleetNode extends Omit<Member, "role" | "warm" | "tools" | "waiting"> {
  readonly role: "gateway" | "worker";
  /** When this gateway heard of it first. */
  readonly since: number;
}

export interface FleetMove {
  readonly session: string;
  /** Names of nodes. */
  readonly from: string;
  readonly to: string;
  readonly at: number;
  /** The worker was lost, it was drained, or it had closed the session, which another opened later. */
  readonly why: "lost" | "drained" | "closed";
}
