import { setTimeout as delay } from "node:timers/promises";
import { type Consumer, type JsMsg, jetstream } from "@nats-io/jetstream";
import { background } from "../../base/background.ts";
import type { Log } from "../../base/log.ts";
import { addressOf, answerNodes } from "../connection/node-server.ts";
import { type Offer, type OfferAnswer, type SlotRequest, queueName, readJob } from "./job-queue.ts";
import type { Members } from "./members.ts";
import { hasLabels, isCompatible } from "./placer.ts";

/** Milliseconds. */
const PULL_FOR = 1_000;
const API_TIMEOUT = 2_000;
const OFFER_TIMEOUT = 2_000;
const RETRY_AFTER = 500;

export interface JobServerOptions {
  /** While this node tells them that it is draining, no slot is given. */
  readonly members: Members;
  readonly slots: WorkerSlots;
  readonly log: Log;
}

export type JobServer = ReturnType<typeof serveJobs>;

/**
 * Gives the slots of a worker: to gateways that ask for one, and, while requests wait, to those first.
 * `wake` has to be called when a slot is free again.
 */
export function serveJobs({ members, slots, log }: JobServerOptions) {
  const { connection, self } = members;
  const stop = new AbortController();
  /** The queues from which it pulls, by name. */
  const pulling = new Map<string, Promise<void>>();

  /** Labels of the requests that wait and that this worker may serve. */
  const queues = (): Readonly<Record<string, string>>[] => {
    const { alive, state } = members;
    const gateways = alive.filter(({ version }) => isCompatible(version, state.version));
    const waiting = gateways.flatMap((member) => member.waiting);
    return waiting.map(({ labels }) => labels).filter((labels) => hasLabels(state, labels));
  };

  const mayPull = (name: string): boolean => {
    if (stop.signal.aborted || !connection.isConnected) return false;
    if (slots.free === 0 || members.state.isDraining) return false;
    return queues().some((labels) => queueName(labels) === name);
  };

  /** Checks whether requests wait that this worker has a slot for. */
  const wake = (): void => {
    for (const labels of queues()) {
      const name = queueName(labels);
      if (!mayPull(name) || pulling.has(name)) continue;
      const ended = pull(name).finally(() => {
        pulling.delete(name);
        if (mayPull(name)) wake();
      });
      pulling.set(name, ended);
      background(ended, "Taking requests for slots");
    }
  };

  const pull = async (name: string): Promise<void> => {
    const client = jetstream(connection.nats, { timeout: API_TIMEOUT });
    let consumer: Consumer | undefined;
    while (mayPull(name)) {
      try {
        consumer ??= await client.consumers.get(connection.subjects.jobs, name);
        const message = await consumer.next({ expires: PULL_FOR });
        if (message !== null) await serve(message);
      } catch (error) {
        if (stop.signal.aborted) return;
        log.debug("fleet.pull-failed", { error });
        consumer = undefined;
        await delay(RETRY_AFTER, undefined, { signal: stop.signal }).catch(() => {});
      }
    }
  };

  /** Offers a slot to the waiting gateway. The request is acknowledged once the gateway has taken it. */
  const serve = async (message: JsMsg): Promise<void> => {
    const job = readJob(message.string());
    if (job === undefined) {
      // It is invalid, so it must not be delivered again.
      message.term();
      return;
    }
    // Compatible gateways use the same queue, so the request goes back into it.
    if (job.version !== undefined && !isCompatible(job.version, members.state.version)) {
      message.nak(RETRY_AFTER);
      return;
    }
    const giveBack = stop.signal.aborted ? undefined : slots.promise();
    if (giveBack === undefined) {
      message.nak();
      return;
    }
    const { gateway } = job;
    const offer: Offer = { worker: self };
    const subject = connection.subjects.offer(addressOf(gateway), job.id);
    try {
      const timeout = OFFER_TIMEOUT;
      const answer = await connection.nats.request(subject, JSON.stringify(offer), { timeout });
      if (!answer.json<OfferAnswer>().isWanted) giveBack();
      message.ack();
    } catch {
      giveBack();
      const isGone = members.isReady && members.get(gateway.id) === undefined;
      if (isGone) message.ack();
      else message.nak(RETRY_AFTER);
    }
  };

  /** A gateway asks for a slot. */
  const take = ({ lost, session }: SlotRequest): void => {
    if (lost !== undefined) members.doubt(lost);
    if (members.state.isDraining) throw new Error("it is draining");
    const isKept = session !== undefined && slots.has(session);
    if (!isKept && queues().length > 0) throw new Error("other requests wait for its slots");
    if (slots.promise(session) === undefined)
      throw new Error(`all its ${slots.slots} slots are taken`);
  };

  const takes = answerNodes(connection, self, "take", (asked) => take(asked as SlotRequest));
  const stops = [members, connection].map((each) => each.onChange(wake));
  wake();
  return {
    wake,
    async [Symbol.asyncDispose](): Promise<void> {
      stop.abort();
      takes.unsubscribe();
      for (const end of stops) end();
      await Promise.allSettled(pulling.values());
    },
  };
}

/** Milliseconds for which a slot is kept for a gateway that was promised it. */
const KEPT = 15_000;

interface WorkerSlotsOptions {
  readonly slots: number;
  /** Called when the number of taken slots has changed. */
  readonly changed?: (() => void) | undefined;
  /** Milliseconds for which a slot is kept for a gateway that was promised it. */
  readonly kept?: number | undefined;
}

/**
 * The slots of a worker: which sessions it has open, and for how many more a gateway was promised a place.
 * A promise that no session follows lapses. Several gateways, or one that tries again, may ask for the
 * same session: it needs one place.
 */
export class WorkerSlots implements Disposable {
  readonly slots: number;
  readonly #changed: () => void;
  readonly #kept: number;
  /** By session; a new session has no id yet when its place is promised. */
  readonly #promised = new Map<string | symbol, NodeJS.Timeout>();
  readonly #sessions = new Set<string | symbol>();

  constructor({ slots, changed = () => {}, kept = KEPT }: WorkerSlotsOptions) {
    this.slots = slots;
    this.#changed = changed;
    this.#kept = kept;
  }

  get used(): number {
    return this.#sessions.size + this.#promised.size;
  }

  get free(): number {
    return Math.max(0, this.slots - this.used);
  }

  /** Sessions that are open. */
  get open(): number {
    return this.#sessions.size;
  }

  /** Whether a session has its place already: it is open, or was promised one. */
  has(session: string): boolean {
    return this.#sessions.has(session) || this.#promised.has(session);
  }

  /** Promises a slot; returns how to take that back. Undefined if none is free. */
  promise(session: string | symbol = Symbol("new")): (() => void) | undefined {
    if (this.#sessions.has(session)) return () => {};
    const lapse = (): void => this.failed(session);
    const known = this.#promised.get(session);
    if (known !== undefined) {
      known.refresh();
      return lapse;
    }
    if (this.free === 0) return undefined;
    this.#promised.set(session, setTimeout(lapse, this.#kept).unref());
    this.#changed();
    return lapse;
  }

  /** A session for which a place was promised cannot be opened here. */
  failed(session: string | symbol): void {
    clearTimeout(this.#promised.get(session));
    if (this.#promised.delete(session)) this.#changed();
  }

  /**
   * A session was opened. It takes its own place, or the one that was promised first for a new session, or
   * one more than there are slots.
   */
  opened(session: string | symbol = Symbol("new")): void {
    const isNew = (key: string | symbol): boolean => typeof key === "symbol";
    const key = this.#promised.has(session) ? session : this.#promised.keys().find(isNew);
    clearTimeout(this.#promised.get(key ?? session));
    this.#promised.delete(key ?? session);
    this.#sessions.add(session);
    this.#changed();
  }

  /** A session was closed. */
  closed(session?: string): void {
    const [first] = this.#sessions;
    if (this.#sessions.delete(session ?? first ?? "")) this.#changed();
  }

  [Symbol.dispose](): void {
    for (const timer of this.#promised.values()) clearTimeout(timer);
    this.#promised.clear();
  }
}
