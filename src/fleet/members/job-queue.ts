import { createHash, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import {
  AckPolicy,
  DiscardPolicy,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from "@nats-io/jetstream";
import { errors, type Msg, nanos } from "@nats-io/transport-node";
import { objectIn } from "../../base/check.ts";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { untilAborted } from "../../base/abort.ts";
import { addressOf, isAddress, isId, type NodeAddress } from "../connection/node-server.ts";
import { ensureStream, firstFrom, isCode } from "../stream-reader.ts";
import type { Members, QueuedRequests } from "./members.ts";
import { hasLabels, isCompatible } from "./placer.ts";

/** A request that waits for a free slot, as it is in the stream. */
interface Job {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Who waits for it. */
  readonly gateway: NodeAddress;
  /** The version of the gateway. The worker has to be compatible with it. */
  readonly version?: string | undefined;
}

/**
 * The question of a worker with a free slot to the gateway. The answer is whether the job is still wanted.
 */
export interface Offer {
  readonly worker: NodeAddress;
}

export interface OfferAnswer {
  readonly isWanted: boolean;
}

/** Undefined for what is no job. */
export function readJob(text: string): Job | undefined {
  const job: Partial<Job> | undefined = objectIn(text);
  return isId(job?.id) && isAddress(job.gateway) ? (job as Job) : undefined;
}

/** Undefined for what is no offer. */
export function readOffer(text: string): Offer | undefined {
  const offer: Partial<Offer> | undefined = objectIn(text);
  return isAddress(offer?.worker) ? (offer as Offer) : undefined;
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

/** The request of a gateway for a slot of a worker that seems to have a free one. */
export interface SlotRequest {
  /** The process that had the session open and counts as dead. */
  readonly lost?: string | undefined;
  /** The session, unless it is a new one. Whoever asks for it again gets the same slot. */
  readonly session?: string | undefined;
}

/** Milliseconds. */
const RETRY_AFTER = 250;
const TIMEOUT = 2_000;
/** How often it is checked that a request still waits in the stream, and that no other is left there. */
const CHECK_EVERY = 20_000;
/** Milliseconds after which a request that a killed worker had taken goes to another worker. */
const ACK_WAIT = 5_000;
/** Milliseconds after which the server removes a request that no gateway has removed. */
const LONGEST_WAIT = 60 * 60_000;
const UNUSED_QUEUE = 60 * 60_000;

/** Codes of JetStream's errors. */
const STREAM_IS_FULL = 10077;
const NO_STREAM = 10059;

interface JobQueueOptions {
  /** Notified when the waiting requests have changed. */
  readonly members: Members;
  /** Requests that may wait in the pool. */
  readonly most: number;
  /** Milliseconds between checks that a request still waits in the stream. */
  readonly checkEvery?: number | undefined;
}

interface WaitingJob {
  readonly labels: Readonly<Record<string, string>>;
  readonly offered: PromiseWithResolvers<NodeAddress>;
}

/**
 * The requests of a gateway that wait for a free slot. They wait in a stream, so that they are served in
 * order whichever gateway they came to, and so that all gateways together keep the limit.
 */
export function openJobQueue(options: JobQueueOptions) {
  const { members, most, checkEvery = CHECK_EVERY } = options;
  const { connection, self } = members;
  const { subjects, nats } = connection;
  const openManager = () => jetstreamManager(nats, { checkAPI: false, timeout: TIMEOUT });
  const jobs = new Map<string, WaitingJob>();
  const tidying = setInterval(() => {
    background(tidy(), "Removing abandoned requests for slots");
  }, checkEvery).unref();
  const offers = connection.listen(subjects.offer(addressOf(self), "*"), (message) =>
    offered(message),
  );

  /**
   * Waits for a worker with a free slot. `queued` is told the place in the queue. Rejects with "limit" if
   * too many wait already.
   */
  async function wait(
    labels: Readonly<Record<string, string>>,
    signal: AbortSignal,
    queued: (place: number) => void = () => {},
  ): Promise<NodeAddress> {
    const id = randomUUID();
    const offered = Promise.withResolvers<NodeAddress>();
    const job: Job = { id, labels, gateway: self, version: members.state.version };
    jobs.set(id, { labels, offered });
    const over = new AbortController();
    let sequence: number | undefined;
    try {
      for (let attempt = 0; ; attempt++) {
        sequence = await enqueue(job, attempt, signal);
        members.tell();
        if (attempt === 0)
          background(tellPlace(id, labels, queued), "Reporting the place in the queue");
        const gone = untilGone(sequence, over.signal);
        const worker = await untilAborted(Promise.race([offered.promise, gone]), signal);
        if (worker !== undefined) return worker;
      }
    } catch (error) {
      if (sequence !== undefined) background(remove(sequence), "Removing a request for a slot");
      throw error;
    } finally {
      over.abort();
      jobs.delete(id);
      members.tell();
    }
  }

  /** Repeats until the stream has it. An attempt whose answer was lost is recognised by its id. */
  async function enqueue(job: Job, attempt: number, signal: AbortSignal): Promise<number> {
    const name = queueName(job.labels);
    const options = { msgID: `${job.id}:${attempt}`, timeout: TIMEOUT };
    for (;;) {
      await connection.connected(signal);
      try {
        await untilAborted(prepare(name), signal);
        const published = jetstream(nats).publish(subjects.job(name), JSON.stringify(job), options);
        return (await published).seq;
      } catch (error) {
        signal.throwIfAborted();
        const full = `${most} requests wait already`;
        if (isCode(error, STREAM_IS_FULL))
          throw new TrunklineError("limit", full, { cause: error });
        if (isForbidden(error)) throw forbidden(error);
        if (nats.isClosed()) throw error;
        await delay(RETRY_AFTER, undefined, { signal });
      }
    }
  }

  /** The request was the last to arrive, so this is how many wait for the same labels. */
  async function tellPlace(
    id: string,
    labels: Readonly<Record<string, string>>,
    queued: (place: number) => void,
  ): Promise<void> {
    const subject = subjects.job(queueName(labels));
    try {
      const manager = await openManager();
      const { state } = await manager.streams.info(subjects.jobs, { subjects_filter: subject });
      if (jobs.has(id)) queued(state.subjects?.[subject] ?? 1);
    } catch (error) {
      // The loss of the connection is reported elsewhere. A server that has just started finds its streams later.
      if (connection.isConnected && !isCode(error, NO_STREAM)) throw error;
    }
  }

  /**
   * Resolves if the request is not in the stream any more: NATS lost its data, or a worker took this
   * gateway for dead.
   */
  async function untilGone(sequence: number, signal: AbortSignal): Promise<undefined> {
    const manager = await openManager();
    let isThere = true;
    while (isThere) {
      await delay(checkEvery, undefined, { signal });
      isThere = await manager.streams.getMessage(subjects.jobs, { seq: sequence }).then(
        (message) => message !== null,
        (error: unknown) => !isCode(error, NO_STREAM),
      );
    }
  }

  /** Makes the stream, and the consumer that all workers with these labels share. */
  async function prepare(name: string): Promise<void> {
    const manager = await openManager();
    const config = {
      name: subjects.jobs,
      subjects: [subjects.job("*")],
      retention: RetentionPolicy.Workqueue,
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      max_msgs: most,
      max_age: nanos(LONGEST_WAIT),
    };
    const { config: found } = await ensureStream(manager, config, connection.replicas);
    if (found.max_msgs !== most)
      await manager.streams.update(config.name, { ...found, max_msgs: most });
    await manager.consumers.add(subjects.jobs, {
      durable_name: name,
      filter_subject: subjects.job(name),
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ACK_WAIT),
      inactive_threshold: nanos(UNUSED_QUEUE),
    });
  }

  /** It is no longer wanted. If that fails, the worker that gets it is told so. */
  async function remove(sequence: number): Promise<void> {
    const manager = await openManager().catch(() => undefined);
    // It may have been taken meanwhile, or NATS cannot be reached.
    await manager?.streams.deleteMessage(subjects.jobs, sequence, false).catch(() => false);
  }

  /**
   * Removes requests that nobody waits for: their gateway was killed, or NATS did not answer when it
   * removed them. Workers look for requests only while a gateway waits, so they would stay and count.
   */
  async function tidy(): Promise<void> {
    if (!connection.isConnected || !members.isReady) return;
    try {
      const manager = await openManager();
      const { state } = await manager.streams.info(subjects.jobs);
      const waiting = members.alive.flatMap((member) => member.waiting);
      const wanted = waiting.reduce((sum, { count }) => sum + count, 0);
      if (state.messages <= wanted) return;
      for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
        const first = firstFrom(seq, subjects.job("*"));
        const message = await manager.streams.getMessage(subjects.jobs, first);
        if (message === null) return;
        ({ seq } = message);
        const { id = "", gateway = self } = readJob(message.string()) ?? {};
        const isOwn = gateway.id === self.id;
        const isWanted = isOwn ? jobs.has(id) : members.get(gateway.id) !== undefined;
        if (!isWanted) await remove(seq);
      }
    } catch {
      // There is no stream yet, or NATS cannot be reached. The next check retries.
    }
  }

  function offered(message: Msg): void {
    const id = message.subject.slice(message.subject.lastIndexOf(".") + 1);
    const offer = readOffer(message.string());
    if (offer === undefined) return;
    const job = jobs.get(id);
    // It stays in the queue if nobody answers. The worker may be too old to know that it must not serve it.
    if (job !== undefined && !mayServe(offer.worker, job)) return;
    jobs.delete(id);
    job?.offered.resolve(offer.worker);
    const answer: OfferAnswer = { isWanted: job !== undefined };
    message.respond(JSON.stringify(answer));
  }

  /** True for a worker that has sent no heartbeat yet. */
  function mayServe({ id }: NodeAddress, { labels }: WaitingJob): boolean {
    const worker = members.get(id);
    if (worker === undefined) return true;
    return hasLabels(worker, labels) && isCompatible(worker.version, members.state.version);
  }

  return {
    /** The waiting requests, for the heartbeats: workers look for requests only if some wait. */
    get waiting(): QueuedRequests[] {
      const queues = Map.groupBy(jobs.values(), ({ labels }) => queueName(labels)).values();
      return Array.from(queues, (all) => ({ labels: all[0]?.labels ?? {}, count: all.length }));
    },
    wait,
    [Symbol.dispose](): void {
      clearInterval(tidying);
      offers.unsubscribe();
      const error = new TrunklineError("closed", "This gateway is closing.");
      for (const { offered } of jobs.values()) {
        offered.promise.catch(() => {});
        offered.reject(error);
      }
    },
  };
}

export type JobQueue = ReturnType<typeof openJobQueue>;

/** Whether the permissions of this gateway do not suffice: trying again does not help. */
function isForbidden(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return error instanceof errors.PermissionViolationError || isForbidden(error.cause);
}

function forbidden(cause: Error): TrunklineError {
  const next = "Give its user the permissions that `trunkline worker credentials` prints";
  const says = `Cannot wait for a free slot: NATS refuses it to this gateway. ${next}.`;
  return new TrunklineError("unavailable", says, { cause });
}
