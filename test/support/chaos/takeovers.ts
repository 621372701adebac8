import { setTimeout as delay } from "node:timers/promises";

import { AcpLine, LineLost } from "./acp-line.ts";
import type { ChaosFleet, ChaosNode } from "./chaos-fleet.ts";
import type { Fault, Faults } from "./faults.ts";
import type { PoolView } from "./pool-view.ts";

/** How long a session of a worker that was hit could not be used. */
export interface Takeover {
  readonly session: string;
  readonly fault: Fault;
  readonly milliseconds: number;
  /** Why it may take longer than promised; undefined if it may not. */
  readonly excuse: string | undefined;
}

/** The sessions that a worker had when it was hit. */
interface Hit {
  readonly fault: Fault;
  readonly sessions: readonly string[];
}

export interface TakeoversOptions {
  readonly fleet: ChaosFleet;
  readonly pool: PoolView;
  readonly faults: Faults;
  readonly cwd: string;
  readonly isClosed: () => boolean;
  /** Called with each takeover. */
  readonly took: (takeover: Takeover) => void;
}

/** Sessions of a worker that was hit for which clients ask all the time. */
const MEASURED = 3;
/** Milliseconds between two attempts, and until one is given up. */
const RETRY = 50;
const ANSWERED_WITHIN = 20_000;

/**
 * Measures how long sessions cannot be used after a worker was killed, paused or cut off: from then on a
 * client asks all gateways for the session, and the first answer counts.
 *
 * A takeover has an excuse if, before that answer, NATS was away, or no gateway was there all the time,
 * or a worker that had taken the session was hit as well. Faults of other workers are no excuse, even if
 * a gateway has just chosen one of them for the session.
 */
export class Takeovers {
  readonly #options: TakeoversOptions;
  readonly #measuring: Promise<void>[] = [];
  readonly #hits: Hit[] = [];
  readonly all: Takeover[] = [];

  constructor(options: TakeoversOptions) {
    this.#options = options;
  }

  /** Begins to measure, for some sessions of the worker, and notes them all. */
  measure(fault: Fault): void {
    const sessions = this.#options.pool.heldBy(fault.pid);
    this.#hits.push({ fault, sessions });
    const step = Math.max(1, Math.floor(sessions.length / MEASURED));
    const measured = sessions.filter((_, at) => at % step === 0).slice(0, MEASURED);
    for (const session of measured) this.#measuring.push(this.#measure(session, fault));
  }

  /**
   * How long it took until another worker had taken each session of those that were hit. Sessions whose
   * worker was back in time were not taken. A client that has lost its gateway too asks late.
   */
  get claims(): Takeover[] {
    const { pool, faults } = this.#options;
    return this.#hits.flatMap(({ fault, sessions }) =>
      sessions.flatMap((session) => {
        const [taken] = pool.takenSince(session, fault.at);
        if (taken === undefined || taken.pid === fault.pid) return [];
        // It came back and was hit again: that is another takeover.
        const again = this.#hits.find(
          (hit) => hit.fault.pid === fault.pid && hit.fault.at > fault.at,
        );
        if (again !== undefined && again.fault.at < taken.at) return [];
        const isAway = faults.outages.some(
          ({ node, from, to }) => node?.role === "gateway" && from < taken.at && to > fault.at,
        );
        const away = isAway ? "a gateway was hit" : undefined;
        const excuse = this.#excuse(session, fault, taken.at) ?? away;
        const milliseconds = Math.round(taken.at - fault.at);
        return [{ session, fault, milliseconds, excuse }];
      }),
    );
  }

  /** What happened while a session could not be used, in milliseconds since its worker was hit. */
  timeline({ session, fault, milliseconds }: Takeover): string {
    const { faults, pool, fleet } = this.#options;
    const { at } = fault;
    const since = (time: number): string =>
      Number.isFinite(time) ? String(Math.round(time - at)) : "…";
    const until = at + milliseconds;
    const outages = faults.outages
      .filter(({ from, to }) => from < until && to > at)
      .map(({ node, from, to }) => `${node?.name ?? "NATS"} away ${since(from)} to ${since(to)}`);
    const taken = pool
      .takenSince(session, at)
      .filter(({ at: when }) => when <= until + 1)
      .map(({ pid, at: when }) => {
        const name = fleet.nodes.find((node) => node.pid === pid)?.name ?? `process ${pid}`;
        return `${name} has it at ${since(when)}`;
      });
    return [...outages, ...taken].join(", ");
  }

  /** Resolves when all sessions can be used again. */
  async ended(): Promise<void> {
    await Promise.all(this.#measuring);
  }

  async #measure(session: string, fault: Fault): Promise<void> {
    const { fleet, isClosed, took } = this.#options;
    const open = new AbortController();
    await Promise.all(fleet.of("gateway").map((gateway) => this.#ask(session, gateway, open)));
    if (isClosed()) return;
    const now = performance.now();
    const milliseconds = Math.round(now - fault.at);
    const takeover = { session, fault, milliseconds, excuse: this.#excuse(session, fault, now) };
    this.all.push(takeover);
    took(takeover);
  }

  /** Asks one gateway until it, or another, has answered. */
  async #ask(session: string, gateway: ChaosNode, open: AbortController): Promise<void> {
    const { cwd, isClosed } = this.#options;
    while (!open.signal.aborted && !isClosed()) {
      const { address, isUp } = gateway;
      if (isUp && address !== undefined) {
        try {
          using line = await AcpLine.connect(address.acp, address.headers, () => {});
          const end = (): void => line[Symbol.dispose]();
          open.signal.addEventListener("abort", end);
          const params = { sessionId: session, cwd, mcpServers: [] };
          const { error } = await line.ask("session/resume", params, ANSWERED_WITHIN);
          if (error === undefined) open.abort();
        } catch (error) {
          if (!(error instanceof LineLost)) throw error;
        }
      }
      await delay(RETRY);
    }
  }

  #excuse(session: string, { at, pid: first }: Fault, until: number): string | undefined {
    const { faults, pool, fleet } = this.#options;
    const outages = faults.outages.filter(({ from, to }) => from < until && to > at);
    if (outages.some(({ node }) => node === undefined)) return "NATS was away";
    const isUp = (gateway: ChaosNode): boolean => !outages.some(({ node }) => node === gateway);
    if (!fleet.of("gateway").some(isUp)) return "no gateway was there all the time";
    // The worker that was hit may have come back and be hit again.
    const holders = [first, ...pool.takenSince(session, at).map(({ pid }) => pid)];
    const hit = outages.find(({ pid = NaN, from }) => from > at && holders.includes(pid));
    return hit === undefined ? undefined : `${hit.node?.name} was hit, which had it`;
  }
}
