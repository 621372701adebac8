import { atMost } from "../../base/abort.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { counted } from "../../base/text/counted.ts";
import { askNode, type NodeAddress } from "../connection/node-server.ts";
import type { JobQueue, SlotRequest } from "./job-queue.ts";
import type { Member, Members } from "./members.ts";

/** The requirements of a session for its worker. */
export interface PlacementRequest {
  /** Its id, unless it is a new one. */
  readonly session?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Address of the repository that it works on. A worker that has it in its cache is preferred. */
  readonly repository?: string | undefined;
  /** The process that had the session open and counts as dead; workers are told. */
  readonly lost?: string | undefined;
}

interface PlacementView {
  readonly pool: string;
  /** Of the gateway that asks. */
  readonly version: string;
  readonly members: readonly Member[];
  /** Whether a member has missed heartbeats, though it does not count as dead yet. */
  readonly isSilent?: ((id: string) => boolean) | undefined;
}

/** `workers` fit, the best first, whether or not they have a free slot; where none fits, `refusal` says why. */
type Placement =
  | { readonly workers: readonly Member[] }
  | { readonly workers: readonly []; readonly refusal: string };

/** Chooses among the workers. Of equal ones any may come first, so that gateways spread their sessions. */
export function placeSession(
  { pool, version, members, isSilent = () => false }: PlacementView,
  { labels = {}, repository }: PlacementRequest,
  random: () => number = Math.random,
): Placement {
  const workers = members.filter(({ role }) => role === "worker");
  if (workers.length === 0) return refuse(`pool '${pool}' has no worker`);
  const running = workers.filter(({ isDraining }) => !isDraining);
  if (running.length === 0) return refuse(`${all(workers)} of pool '${pool}' ${drain(workers)}`);
  const labelled = running.filter((worker) => hasLabels(worker, labels));
  if (labelled.length === 0) return refuse(`no worker of pool '${pool}' has ${words(labels)}`);
  const fitting = labelled.filter((worker) => isCompatible(worker.version, version));
  if (fitting.length === 0) {
    const found = [...new Set(labelled.map((worker) => worker.version))].toSorted().join(", ");
    return refuse(
      `the workers of pool '${pool}' run version ${found}, and this gateway ${version}; they may differ ` +
        "by one minor version. Upgrade the older ones",
    );
  }
  const ranked = fitting.map((worker) => ({
    worker,
    isSilent: isSilent(worker.id),
    isFull: freeSlots(worker) === 0,
    isWarm: repository !== undefined && worker.warm.includes(repository),
    load: worker.used / worker.slots,
    chance: random(),
  }));
  ranked.sort(
    (one, other) =>
      Number(one.isSilent) - Number(other.isSilent) ||
      Number(one.isFull) - Number(other.isFull) ||
      Number(other.isWarm) - Number(one.isWarm) ||
      one.load - other.load ||
      one.chance - other.chance,
  );
  return { workers: ranked.map(({ worker }) => worker) };
}

function freeSlots({ slots, used }: Pick<Member, "slots" | "used">): number {
  return Math.max(0, slots - used);
}

export function hasLabels(
  worker: Pick<Member, "labels">,
  labels: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(labels).every(([key, value]) => worker.labels[key] === value);
}

/** Nodes of the same major version work together if their minor versions are at most one apart. */
export function isCompatible(one: string, other: string): boolean {
  const [major, minor] = one.split(".").map(Number);
  const [otherMajor, otherMinor] = other.split(".").map(Number);
  return major === otherMajor && Math.abs((minor ?? 0) - (otherMinor ?? 0)) <= 1;
}

/** Such as "all 12 slots of 3 workers are taken". */
export function fullWords(workers: readonly Pick<Member, "slots">[]): string {
  const slots = workers.reduce((sum, worker) => sum + worker.slots, 0);
  const of = counted(workers.length, "worker");
  return slots === 1 ? `the only slot of ${of} is taken` : `all ${slots} slots of ${of} are taken`;
}

function refuse(refusal: string): Placement {
  return { workers: [], refusal };
}

function all(workers: readonly unknown[]): string {
  return workers.length === 1 ? "the only worker" : `all ${workers.length} workers`;
}

function drain(workers: readonly unknown[]): string {
  return workers.length === 1 ? "is draining" : "are draining";
}

function words(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return `${pairs.length === 1 ? "label" : "labels"} ${pairs.join(" and ")}`;
}

/** Workers that are asked for a slot before the request waits for one. */
const ATTEMPTS = 4;
/** Milliseconds until the next worker is asked too: one that is paused does not answer at all. */
const SLOW = 300;
/** Milliseconds that a request for a new session waits for a slot, unless its client goes away before. */
const LONGEST_WAIT = 10 * 60_000;
/**
 * Milliseconds within which a session of a worker that was lost must be open again: four seconds until
 * its silence counts as its end, and time for NATS itself to come back.
 */
export const TAKE_OVER_WITHIN = 30_000;

/** Milliseconds that a request for a slot waits for NATS: its servers may only elect a leader. */
const NATS_BACK_WITHIN = 10_000;

interface PlacerOptions {
  readonly members: Members;
  readonly queue: JobQueue;
  /** Milliseconds that a request for a new session waits for a slot. */
  readonly longestWait?: number | undefined;
  /** Milliseconds that one for a session that was open waits for a slot. */
  readonly takeOverWithin?: number | undefined;
  readonly log: Log;
}

/** Called with the place in the queue of a request that has to wait, and why it has to. */
export type QueueListener = (place: number, why: string) => void;

/** Finds workers for sessions. */
export class Placer {
  readonly #options: PlacerOptions;

  constructor(options: PlacerOptions) {
    this.#options = options;
  }

  /**
   * A worker that keeps a slot for the session for a short time. If no slot is free, waits for one.
   * Rejects in words if no worker fits, or too many requests wait.
   */
  async place(
    request: PlacementRequest,
    signal: AbortSignal,
    queued: QueueListener = () => {},
  ): Promise<NodeAddress> {
    const workers = await this.#workers(request, signal);
    // One that seems full may keep a slot for this very session.
    const isKnown = request.session !== undefined;
    const free = workers.filter((worker) => isKnown || freeSlots(worker) > 0);
    const worker = await this.#takeFrom(free.slice(0, ATTEMPTS), request);
    signal.throwIfAborted();
    if (worker !== undefined) return worker;
    // What is taken is not known without it, and nobody could hear of a free slot.
    await atMost(NATS_BACK_WITHIN, this.#options.members.connection.connected(signal));
    this.#refuseIfLost();
    return await this.#wait(workers, request, signal, queued);
  }

  #refuseIfLost(): void {
    if (this.#options.members.connection.isConnected) return;
    throw cannotPlace("the connection to NATS is lost. Try again when it is back");
  }

  /**
   * The first of the workers that keeps a slot; undefined if none does. The next one is asked when one
   * refuses or has gone, or does not answer soon. A slot that is promised twice lapses.
   */
  async #takeFrom(
    workers: readonly Member[],
    { lost, session }: PlacementRequest,
  ): Promise<Member | undefined> {
    const { connection } = this.#options.members;
    const take: SlotRequest = { lost, session };
    const asked: Promise<Member>[] = [];
    const taken = (): Promise<Member | undefined> => Promise.any(asked).catch(() => undefined);
    for (const worker of workers) {
      const asking = askNode(connection, worker, "take", take).then(() => worker);
      asked.push(asking);
      const refused = asking.catch(() => undefined);
      const first = await atMost(SLOW, Promise.race([taken(), refused]));
      if (first !== undefined) return first;
    }
    return await taken();
  }

  /** Those that fit, the best first. */
  async #workers(request: PlacementRequest, signal: AbortSignal): Promise<readonly Member[]> {
    const { members } = this.#options;
    const { connection, state } = members;
    for (;;) {
      signal.throwIfAborted();
      const isSilent = (id: string): boolean => members.isSilent(id);
      const { pool } = connection.subjects;
      const view = { pool, version: state.version, members: members.alive, isSilent };
      const placement = placeSession(view, request);
      if (!("refusal" in placement)) return placement.workers;
      // A gateway that has just started has not heard of all workers yet.
      if (members.isReady) {
        const isLost = !connection.isConnected;
        throw cannotPlace(isLost ? "the connection to NATS is lost" : placement.refusal);
      }
      await members.next(signal);
    }
  }

  async #wait(
    workers: readonly Member[],
    { labels = {}, session }: PlacementRequest,
    signal: AbortSignal,
    queued: QueueListener,
  ): Promise<NodeAddress> {
    const {
      queue,
      log,
      longestWait = LONGEST_WAIT,
      takeOverWithin = TAKE_OVER_WITHIN,
    } = this.#options;
    const patience = session === undefined ? longestWait : takeOverWithin;
    const deadline = AbortSignal.timeout(patience);
    const full = fullWords(workers);
    let last = 0;
    try {
      return await queue.wait(labels, AbortSignal.any([signal, deadline]), (place) => {
        last = place;
        log.info("fleet.queued", { session, place, why: full });
        queued(place, full);
      });
    } catch (error) {
      this.#refuseIfLost();
      const next = "Try again later, or add workers";
      const isFull = error instanceof TrunklineError && error.code === "limit";
      if (!isFull && (!deadline.aborted || signal.aborted)) throw error;
      const place = last === 0 ? "" : ` It came to the queue as number ${last}.`;
      const refusal = isFull
        ? cannotPlace(`${full}, and ${error.message}. ${next}`, "limit")
        : cannotPlace(
            `${full}, and none was free within ${patience / 1000} s.${place} ${next}`,
            "timeout",
          );
      log.warn("fleet.no-slot", { session, why: refusal.message });
      throw refusal;
    }
  }
}

function cannotPlace(
  why: string,
  code: "unavailable" | "limit" | "timeout" = "unavailable",
): TrunklineError {
  return new TrunklineError(code, `Cannot open the session: ${why}.`);
}
