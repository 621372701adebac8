import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
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
/** Milliseconds that a request waits for a slot, unless its client goes away before. */
const LONGEST_WAIT = 10 * 60_000;

export interface PlacerOptions {
  readonly connection: FleetConnection;
  readonly members: Members;
  readonly queue: JobQueue;
  /** Of this gateway. */
  readonly version?: string | undefined;
  /** Milliseconds that a request waits for a slot. */
  readonly longestWait?: number | undefined;
}

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
  async place(request: PlacementRequest, signal: AbortSignal): Promise<NodeAddress> {
    const workers = await this.#workers(request, signal);
    // One that seems full may keep a slot for this very session.
    const isKnown = request.session !== undefined;
    const free = workers.filter((worker) => isKnown || freeSlots(worker) > 0);
    const worker = await this.#takeFrom(free.slice(0, ATTEMPTS), request);
    signal.throwIfAborted();
    return worker ?? (await this.#wait(workers, request, signal));
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
    { labels = {} }: PlacementRequest,
    signal: AbortSignal,
  ): Promise<NodeAddress> {
    const { queue, longestWait = LONGEST_WAIT } = this.#options;
    const deadline = AbortSignal.timeout(longestWait);
    try {
      return await queue.wait(labels, AbortSignal.any([signal, deadline]));
    } catch (error) {
      const full = fullWords(workers);
      if (error instanceof TrunklineError && error.code === "limit") {
        throw cannotPlace(
          `${full}, and ${error.message}. Try again later, or add workers`,
          "limit",
        );
      }
      if (!deadline.aborted || signal.aborted) throw error;
      const seconds = longestWait / 1000;
      throw cannotPlace(`${full}, and none was free within ${seconds} seconds`, "timeout");
    }
  }
}

function cannotPlace(
  why: string,
  code: "unavailable" | "limit" | "timeout" = "unavailable",
): TrunklineError {
  return new TrunklineError(code, `Cannot open the session: ${why}.`);
}
