import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { VERSION } from "../../base/version.ts";
import type { FleetConnection } from "../connection/connect.ts";
import { askNode, type NodeAddress } from "../connection/node-request.ts";
import type { Member } from "./beat.ts";
import type { Take } from "./job.ts";
import type { JobQueue } from "./job-queue.ts";
import type { Members } from "./members.ts";
import { freeSlots, fullWords, type PlacementRequest, placeSession } from "./placement.ts";

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

export interface PlacerOptions {
  readonly connection: FleetConnection;
  readonly members: Members;
  readonly queue: JobQueue;
  /** Of this gateway. */
  readonly version?: string | undefined;
  /** Milliseconds that a request for a new session waits for a slot. */
  readonly longestWait?: number | undefined;
  /** Milliseconds that one for a session that was open waits for a slot. */
  readonly takeOverWithin?: number | undefined;
  readonly log: Log;
}

/** Called with the place in the queue of a request that has to wait, and why it has to. */
export type Queued = (place: number, why: string) => void;

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
    queued: Queued = () => {},
  ): Promise<NodeAddress> {
    const workers = await this.#workers(request, signal);
    // One that seems full may keep a slot for this very session.
    const isKnown = request.session !== undefined;
    const free = workers.filter((worker) => isKnown || freeSlots(worker) > 0);
    const worker = await this.#takeFrom(free.slice(0, ATTEMPTS), request);
    signal.throwIfAborted();
    return worker ?? (await this.#wait(workers, request, signal, queued));
  }

  /**
   * The first of the workers that keeps a slot; undefined if none does. The next one is asked when one
   * refuses or has gone, or does not answer soon. A slot that is promised twice lapses.
   */
  async #takeFrom(
    workers: readonly Member[],
    { lost, session }: PlacementRequest,
  ): Promise<Member | undefined> {
    const { connection } = this.#options;
    const take: Take = { lost, session };
    const { promise, resolve } = Promise.withResolvers<Member | undefined>();
    const slow = new Set<NodeJS.Timeout>();
    let [next, refusals] = [0, 0];
    const ask = async (): Promise<void> => {
      const worker = workers[next++];
      if (worker === undefined) return;
      const timer = setTimeout(() => {
        slow.delete(timer);
        background(ask(), "Asking another worker");
      }, SLOW);
      slow.add(timer);
      try {
        await askNode(connection, worker, "take", take);
        resolve(worker);
      } catch {
        clearTimeout(timer);
        refusals++;
        if (refusals === workers.length) resolve(undefined);
        else if (slow.delete(timer)) background(ask(), "Asking another worker");
      }
    };
    if (workers.length === 0) return undefined;
    background(ask(), "Asking a worker");
    try {
      return await promise;
    } finally {
      for (const timer of slow) clearTimeout(timer);
      slow.clear();
    }
  }

  /** Those that fit, the best first. */
  async #workers(request: PlacementRequest, signal: AbortSignal): Promise<readonly Member[]> {
    const { connection, members, version = VERSION } = this.#options;
    const { pool } = connection.subjects;
    for (;;) {
      signal.throwIfAborted();
      const isSilent = (id: string): boolean => members.isSilent(id);
      const view = { pool, version, members: members.alive, isSilent };
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
    queued: Queued,
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
