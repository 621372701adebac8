import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { connect, type NatsConnection } from "@nats-io/transport-node";

import { Subjects } from "../../../src/fleet/subjects.ts";

/** What is in NATS, as somebody sees it who is no part of the fleet. */
export class PoolView implements AsyncDisposable {
  readonly #nats: NatsConnection;
  readonly #subjects = new Subjects("default");
  /** Ids of the processes that hold sessions. */
  readonly #holders = new Map<string, string>();
  readonly #stop: () => void;
  readonly #following: Promise<void>;

  private constructor(nats: NatsConnection, watch: Watch) {
    this.#nats = nats;
    this.#stop = () => watch.stop();
    this.#following = this.#follow(watch);
  }

  static async open(url: string): Promise<PoolView> {
    const nats = await connect({ servers: url, maxReconnectAttempts: -1, reconnectTimeWait: 200 });
    const kv = await new Kvm(jetstream(nats)).open(new Subjects("default").sessions);
    return new PoolView(nats, await kv.watch());
  }

  /** Sessions that a process holds. */
  heldBy(pid: number): string[] {
    const held = [...this.#holders].filter(([, holder]) => holder.startsWith(`${pid}-`));
    return held.map(([id]) => id);
  }

  /** What NATS has beside the sessions that exist: nothing of it may grow. */
  async leftovers(): Promise<Record<string, number>> {
    const manager = await jetstreamManager(this.#nats);
    const left: Record<string, number> = {};
    for await (const { config, state } of manager.streams.list()) {
      left[`${config.name} messages`] = state.messages;
      left[`${config.name} consumers`] = state.consumer_count;
    }
    return left;
  }

  get held(): number {
    return this.#holders.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
    await this.#following;
    await this.#nats.close();
  }

  async #follow(watch: Watch): Promise<void> {
    for await (const { key, value } of watch) {
      const text = Buffer.from(value).toString("utf8");
      const { holder } = (text === "" ? {} : JSON.parse(text)) as { readonly holder?: string };
      if (holder === undefined) this.#holders.delete(key);
      else this.#holders.set(key, holder);
    }
  }

  get subjects(): Subjects {
    return this.#subjects;
  }
}

type Watch = Awaited<ReturnType<Awaited<ReturnType<Kvm["open"]>>["watch"]>>;
