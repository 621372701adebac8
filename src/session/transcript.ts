import type { SessionUpdate } from "./agent.ts";
import type { SessionClient } from "./client.ts";
import type { Delivery } from "./delivery.ts";
import { directionOf, type SessionEvent } from "./event.ts";
import type { SessionStore } from "./store.ts";

interface Entry {
  readonly seq: number;
  readonly shows: readonly SessionUpdate[];
  /** Of the only update, where there is one. */
  readonly text: string;
  readonly except: SessionClient | undefined;
}

const NOTHING: readonly SessionUpdate[] = [];

/** Writes down what happens in a session, and has it shown once it is on disk. */
export class Transcript {
  readonly #store: SessionStore;
  readonly #key: number;
  readonly #delivery: Delivery;
  #seq: number;
  /** The commit that is awaited, and what it holds of this session. */
  #commit: Promise<void> | undefined;
  #entries: Entry[] = [];
  #failure: Error | undefined;

  constructor(store: SessionStore, key: number, last: number, delivery: Delivery) {
    this.#store = store;
    this.#key = key;
    this.#seq = last;
    this.#delivery = delivery;
  }

  /** Resolves when the update is stored and there is room for more. */
  say(update: SessionUpdate): Promise<void> {
    const text = JSON.stringify(update);
    const stored = this.#append("agent", `{"kind":"update","update":${text}}`, {
      shows: [update],
      text,
      except: undefined,
    });
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
    const entry = { shows, text: "", except };
    return this.#append(directionOf(event), JSON.stringify(event), entry);
  }

  /** Resolves when all that was said is stored and shown. */
  async settled(): Promise<void> {
    while (this.#commit !== undefined) await this.#commit;
    await this.#delivery.drained();
  }

  #append(direction: "client" | "agent", text: string, entry: Omit<Entry, "seq">): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const seq = ++this.#seq;
    const commit = this.#store.append(this.#key, seq, direction, text);
    // All that one commit holds is heard of once.
    if (commit !== this.#commit) this.#await(commit);
    this.#entries.push({ seq, ...entry });
    return commit;
  }

  #await(commit: Promise<void>): void {
    const entries: Entry[] = (this.#entries = []);
    this.#commit = commit;
    commit.then(
      () => {
        if (this.#commit === commit) this.#commit = undefined;
        for (const entry of entries) this.#show(entry);
      },
      (error: Error) => {
        if (this.#commit === commit) this.#commit = undefined;
        // What follows would have a gap before it.
        this.#failure ??= error;
      },
    );
  }

  #show({ seq, shows, text, except }: Entry): void {
    if (shows.length === 0) this.#delivery.pass(seq);
    for (const update of shows) this.#delivery.push({ seq, update, text, except });
  }
}
