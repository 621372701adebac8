import { DeliverPolicy, type JsMsg, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";

import { FleetConnection } from "../../../src/fleet/connection/connect.ts";
import { followStream, openReader } from "../../../src/fleet/stream-reader.ts";
import { subjectsOf } from "../../../src/fleet/subjects.ts";

interface Taken {
  readonly pid: number;
  /** Of `performance.now()`. */
  readonly at: number;
}

/** What is in NATS, as somebody sees it who is no part of the fleet. */
export class PoolView implements AsyncDisposable {
  readonly #connection: FleetConnection;
  readonly #nats: NatsConnection;
  readonly subjects = subjectsOf("default");
  /** Ids of the processes that hold sessions. */
  readonly #holders = new Map<string, string>();
  /** Who took which session, and when. */
  readonly #taken = new Map<string, Taken[]>();
  readonly #follower: ReturnType<typeof followStream>;

  private constructor(connection: FleetConnection) {
    this.#connection = connection;
    this.#nats = connection.nats;
    const reading = { deliver_policy: DeliverPolicy.LastPerSubject };
    const stream = `KV_${this.subjects.sessions}`;
    this.#follower = followStream({
      connection,
      open: () => openReader(this.#nats, stream, reading, { max_messages: 1_000 }),
      heard: (message) => this.#take(message),
    });
  }

  static async open(url: string): Promise<PoolView> {
    const subjects = subjectsOf("default");
    return new PoolView(await FleetConnection.open({ url, subjects, name: "view" }));
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
    await this.#follower[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopWatching();
    await this.#connection[Symbol.asyncDispose]();
  }

  #take({ subject, data }: JsMsg): void {
    const key = subject.slice(`$KV.${this.subjects.sessions}.`.length);
    const text = data.length === 0 ? "{}" : Buffer.from(data).toString("utf8");
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
