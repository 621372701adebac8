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
    for (const worker of free.slice(0, ATTEMPTS)) {
      try {
        const { lost, session } = request;
        const take: Take = { lost, session };
        await askNode(this.#options.connection, worker, "take", take);
        return worker;
      } catch {
        // Its slots were taken meanwhile, or it has gone.
      }
      signal.throwIfAborted();
    }
    return await this.#wait(workers, request, signal);
  }

  /** Those that fit, the best first. */
  async #workers(request: PlacementRequest, signal: AbortSignal): Promise<readonly Member[]> {
    const { connection, members, version = VERSION } = this.#options;
    const { pool } = connection.subjects;
    for (;;) {
      signal.throwIfAborted();
      const placement = placeSession({ pool, version, members: members.alive }, request);
      if (!("refusal" in placement)) return placement.workers;
      // A gateway that has just started has not heard of all workers yet.
      if (members.isReady) throw cannotPlace(placement.refusal);
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
