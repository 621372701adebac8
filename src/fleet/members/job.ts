import { createHash } from "node:crypto";

import { isAddress, isId, type NodeAddress } from "../connection/node-request.ts";

/** A request that waits for a free slot, as it is in the stream. */
export interface Job {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Who waits for it. */
  readonly gateway: NodeAddress;
  /** Of the gateway, which a worker has to be compatible with. */
  readonly version?: string | undefined;
}

/** What a worker with a free slot asks the gateway. The answer is whether the job is still wanted. */
export interface Offer {
  readonly worker: NodeAddress;
}

export interface OfferAnswer {
  readonly isWanted: boolean;
}

/** Undefined for what is no job. */
export function readJob(text: string): Job | undefined {
  const job: Partial<Job> | undefined = readObject(text);
  const isJob = isId(job?.id) && isAddress(job.gateway);
  return isJob ? (job as Job) : undefined;
}

/** Undefined for what is no offer. */
export function readOffer(text: string): Offer | undefined {
  const offer: Partial<Offer> | undefined = readObject(text);
  return isAddress(offer?.worker) ? (offer as Offer) : undefined;
}

function readObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Names the queue of the requests that ask for these labels. Each such queue has a consumer, so that a
 * worker gets no request that it cannot serve.
 */
export function queueName(labels: Readonly<Record<string, string>>): string {
  const entries = Object.entries(labels).toSorted(([one], [other]) => (one < other ? -1 : 1));
  if (entries.length === 0) return "any";
  return createHash("sha256").update(JSON.stringify(entries)).digest("hex").slice(0, 32);
}

/** What a gateway asks a worker for that seems to have a free slot. */
export interface Take {
  /** The process that had the session open and counts as dead. */
  readonly lost?: string | undefined;
  /** The session, unless it is a new one. Whoever asks for it again gets the same slot. */
  readonly session?: string | undefined;
}
