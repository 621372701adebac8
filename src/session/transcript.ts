import type { SessionUpdate } from "./agent.ts";
import type { SessionClient } from "./client.ts";
import type { Delivery, Outgoing } from "./delivery.ts";
import { directionOf, type SessionEvent } from "./event.ts";
import type { SessionStore } from "./store.ts";

const NOTHING: readonly SessionUpdate[] = [];

/** Writes down what happens in a session, and has it shown once it is on disk. */
export class Transcript {
  readonly #store: SessionStore;
  readonly #key: number;
  readonly #delivery: Delivery;
  #seq: number;
  /** The commit that is awaited, and what it holds of this session to be shown, or to be passed. */
  #commit: Promise<void> | undefined;
  #entries: (Outgoing | number)[] = [];
  #failure: Error | undefined;

  constructor(store: SessionStore, key: number, last: number, delivery: Delivery) {
    this.#store = store;
    this.#key = key;
    this.#seq = last;
    this.#delivery = delivery;
  }

  /** Resolves when the update is stored and there is room for more. */
  say(update: SessionUpdate): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    // Made once, for the log and for all clients.
    const text = JSON.stringify(update);
    const stored = this.#append("agent", `{"kind":"update","update":${text}}`);
    const kind = update.sessionUpdate;
    this.#entries.push({ seq: this.#seq, kind, text, update, except: undefined });
    const { room } = this.#delivery;
    if (room === undefined) return stored;
    const roomy = stored.then(() => room);
    // Whoever speaks need not wait.
    roomy.catch(() => {});
    return roomy;
  }

  /** Resolves when the event is stored. Others see it as `shows`. */
  record(
    event: SessionEvent,
    shows: readonly SessionUpdate[] = NOTHING,
    except?: SessionClient,
  ): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const stored = this.#append(directionOf(event), JSON.stringify(event));
    const seq = this.#seq;
    if (shows.length === 0) this.#entries.push(seq);
    for (const update of shows) {
      this.#entries.push({ seq, kind: update.sessionUpdate, text: "", update, except });
    }
    return stored;
  }

  /** Resolves when all that was said is stored and shown. */
  async settled(): Promise<void> {
    while (this.#commit !== undefined) await this.#commit;
    await this.#delivery.drained();
  }

  #append(direction: "client" | "agent", text: string): Promise<void> {
    const commit = this.#store.append(this.#key, ++this.#seq, direction, text);
    // All that one commit holds is heard of once.
    if (commit !== this.#commit) this.#await(commit);
    return commit;
  }

  #await(commit: Promise<void>): void {
    const entries: (Outgoing | number)[] = (this.#entries = []);
    this.#commit = commit;
    commit.then(
      () => {
        if (this.#commit === commit) this.#commit = undefined;
        for (const entry of entries) {
          if (typeof entry === "number") this.#delivery.pass(entry);
          else this.#delivery.push(entry);
        }
      },
      (error: Error) => {
        if (this.#commit === commit) this.#commit = undefined;
        // What follows would have a gap before it.
        this.#failure ??= error;
      },
    );
  }
}
