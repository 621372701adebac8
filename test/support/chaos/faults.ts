import { setTimeout as delay } from "node:timers/promises";

import type { SeededRandom } from "../seeded-random.ts";
import type { ChaosFleet, ChaosNode, Role } from "./chaos-fleet.ts";

export type Kind = "kill" | "pause" | "cut";

/** Something that went wrong with a node. */
export interface Fault {
  readonly node: ChaosNode;
  readonly kind: Kind;
  /** Its process when it was hit. */
  readonly pid: number;
  /** Of `performance.now()`. */
  readonly at: number;
}

/** When a node, or NATS, did not work. */
export interface Outage {
  /** Undefined for NATS. */
  readonly node?: ChaosNode;
  /** The process of the node. */
  readonly pid?: number;
  /** Of `performance.now()`. */
  readonly from: number;
  to: number;
}

export interface FaultsOptions {
  readonly random: SeededRandom;
  /** Called when a node was hit. */
  readonly hit: (fault: Fault) => void;
  readonly say: (words: string) => void;
}

const KINDS: readonly Kind[] = ["kill", "pause", "cut"];
/** Milliseconds for which something lasts. Four seconds of silence are the end of a node. */
const LONGEST = { kill: 6_000, pause: 12_000, cut: 12_000 };
const NATS_LONGEST = 3_000;
/** Milliseconds between two faults. */
const BETWEEN = [500, 4_000] as const;

/** Lets nodes and NATS fail at random. One worker and one gateway stay as they are at any time. */
export class Faults {
  readonly #fleet: ChaosFleet;
  readonly #options: FaultsOptions;
  readonly #running = new Set<Promise<void>>();
  readonly counts: Record<string, number> = {};
  readonly outages: Outage[] = [];

  constructor(fleet: ChaosFleet, options: FaultsOptions) {
    this.#fleet = fleet;
    this.#options = options;
  }

  /** Goes on until it is over, and mends everything in the end. */
  async run(isOver: () => boolean): Promise<void> {
    const { random } = this.#options;
    while (!isOver()) {
      await delay(BETWEEN[0] + random.below(BETWEEN[1] - BETWEEN[0]));
      const chance = random.below(10);
      if (chance < 2) this.#track(this.#hitNats());
      else this.#hit(chance < 7 ? "worker" : "gateway");
    }
    await Promise.all(this.#running);
  }

  /** Kills a node, and starts it again when `until` resolves. */
  async kill(node: ChaosNode, until: () => Promise<void>): Promise<void> {
    const { pid } = node;
    const outage = this.#begin({ node, pid });
    this.#options.say(`kill ${node.name}`);
    await node.kill();
    this.#options.hit({ node, kind: "kill", pid, at: outage.from });
    await until();
    await this.#startAgain(node);
    outage.to = performance.now();
  }

  #hit(role: Role): void {
    const { random } = this.#options;
    const up = this.#fleet.of(role).filter(({ isUp }) => isUp);
    if (up.length < 2) return;
    this.#track(this.#strike(random.pick(up), random.pick(KINDS)));
  }

  async #strike(node: ChaosNode, kind: Kind): Promise<void> {
    const { random, hit, say } = this.#options;
    const { pid } = node;
    const outage = this.#begin({ node, pid });
    const fault = { node, kind, pid, at: outage.from };
    const lasts = random.below(LONGEST[kind]);
    const isReset = random.once(2);
    this.#count(`${kind} ${node.role}`);
    say(`${kind} ${node.name} for ${lasts} ms`);
    if (kind === "kill") await node.kill();
    else node[kind]();
    hit(fault);
    await delay(lasts);
    if (kind === "pause") node.wake();
    else if (kind === "cut") node.mend(isReset);
    else await this.#startAgain(node);
    outage.to = performance.now();
    say(`${node.name} is back`);
  }

  /** A node cannot start while NATS is away, or too busy to answer: whoever runs it starts it again. */
  async #startAgain(node: ChaosNode): Promise<void> {
    for (;;) {
      try {
        return await node.start();
      } catch (error) {
        this.#options.say(`${node.name} does not start: ${String(error).slice(0, 300)}`);
        await node.kill();
        await delay(500);
      }
    }
  }

  async #hitNats(): Promise<void> {
    const { random, say } = this.#options;
    if (this.outages.some(({ node, to }) => node === undefined && to === Infinity)) return;
    const kind = random.pick(["kill", "pause"] as const);
    const lasts = random.below(NATS_LONGEST);
    const outage = this.#begin({});
    this.#count(`${kind} nats`);
    say(`${kind} NATS for ${lasts} ms`);
    const { nats } = this.#fleet;
    if (kind === "kill") await nats.kill();
    else process.kill(nats.pid, "SIGSTOP");
    await delay(lasts);
    if (kind === "kill") await nats.restart();
    else process.kill(nats.pid, "SIGCONT");
    outage.to = performance.now();
    say("NATS is back");
  }

  #begin(what: Pick<Outage, "node" | "pid">): Outage {
    const outage = { ...what, from: performance.now(), to: Infinity };
    this.outages.push(outage);
    return outage;
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  #count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}
