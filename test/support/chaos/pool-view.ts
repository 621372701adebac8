import { setTimeout as delay } from "node:timers/promises";

import { jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";

import { type BucketWatch, watchBucket } from "../../../src/fleet/store/session-mirror.ts";
import { subjectsOf } from "../../../src/fleet/subjects.ts";

interface Taken {
  readonly pid: number;
  /** Of `performance.now()`. */
  readonly at: number;
}

/** What is in NATS, as somebody sees it who is no part of the fleet. */
export class PoolView implements AsyncDisposable {
  readonly #nats: NatsConnection;
  readonly subjects = subjectsOf("default");
  /** Ids of the processes that hold sessions. */
  readonly #holders = new Map<string, string>();
  /** Who took which session, and when. */
  readonly #taken = new Map<string, Taken[]>();
  #watch: BucketWatch | undefined;
  #isOver = false;
  readonly #following: Promise<void>;

  private constructor(nats: NatsConnection) {
    this.#nats = nats;
    this.#following = this.#follow();
  }

  static async open(url: string): Promise<PoolView> {
    const nats = await connect({ servers: url, maxReconnectAttempts: -1, reconnectTimeWait: 200 });
    return new PoolView(nats);
  }

  /** Sessions that a process holds. */
  heldBy(pid: number): string[] {
    const held = [...this.#holders].filter(([, holder]) => holder.startsWith(`${pid}-`));
    return held.map(([id]) => id);
  }

  /** The processes that have taken a session since then, and when. */
  takenSince(session: string, since: number): Taken[] {
    return (this.#taken.get(session) ?? []).filter(({ at }) => at >= since);
  }

  /** How many messages there are for each subject, in streams whose name begins so. */
  async messages(prefix: string): Promise<Map<string, number>> {
    const { streams } = await jetstreamManager(this.#nats);
    const counts = new Map<string, number>();
    for await (const { config } of streams.list()) {
      if (!config.name.startsWith(prefix)) continue;
      const { state } = await streams.info(config.name, { subjects_filter: ">" });
      for (const [subject, count] of Object.entries(state.subjects ?? {}))
        counts.set(subject, count);
    }
    return counts;
  }

  /** The readers of all streams, as `STREAM NAME`. */
  async readers(): Promise<string[]> {
    const { streams, consumers } = await jetstreamManager(this.#nats);
    const readers: string[] = [];
    for await (const { config } of streams.list()) {
      // The queue of requests for slots stays: all workers use it.
      if (config.name === this.subjects.jobs) continue;
      for await (const { name } of consumers.list(config.name))
        readers.push(`${config.name} ${name}`);
    }
    return readers;
  }

  /** Requests that wait for a slot. */
  async waiting(): Promise<number> {
    const { streams } = await jetstreamManager(this.#nats);
    const found = await streams.info(this.subjects.jobs).catch(() => undefined);
    return found?.state.messages ?? 0;
  }

  /** Ends to follow who holds sessions, which takes a reader of its own. */
  async stopWatching(): Promise<void> {
    this.#isOver = true;
    this.#watch?.stop();
    await this.#following;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopWatching();
    await this.#nats.close();
  }

  async #follow(): Promise<void> {
    while (!this.#isOver) {
      try {
        this.#watch = await watchBucket(this.#nats, this.subjects.sessions);
        if (!this.#isOver) await this.#take(this.#watch);
      } catch {
        // NATS is away.
      }
      if (!this.#isOver) await delay(100);
    }
  }

  async #take(watch: BucketWatch): Promise<void> {
    for await (const { key, value } of watch) {
      const text = value === undefined ? "{}" : Buffer.from(value).toString("utf8");
      const { holder } = JSON.parse(text) as { readonly holder?: string };
      if (holder === undefined) this.#holders.delete(key);
      else if (this.#holders.get(key) !== holder) {
        this.#holders.set(key, holder);
        const taken = this.#taken.get(key) ?? [];
        taken.push({ pid: Number(holder.split("-")[0]), at: performance.now() });
        this.#taken.set(key, taken);
      }
    }
  }
}
