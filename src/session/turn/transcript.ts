import type { SessionUpdate } from "../agent.ts";
import type { SessionClient } from "../client/client.ts";
import type { Delivery, PendingUpdate } from "../client/delivery.ts";
import { directionOf, type SessionEvent } from "../event.ts";
import type { Appended, SessionStore } from "../store.ts";

const NOTHING: readonly SessionUpdate[] = [];

/**
 * Writes down what happens in a session, and has it shown once it is on disk.
 *
 * Once something could not be stored, all that follows is refused for the same reason, since it
 * would have a gap before it. That ends with `mend`, when something new begins.
 */
export class Transcript {
  readonly #store: SessionStore;
  readonly #key: number;
  readonly #delivery: Delivery;
  /** The commit that is awaited, or that failed, and what is to be shown, or passed, after it. */
  #commit: Appended | undefined;
  #entries: (PendingUpdate | number)[] = [];

  constructor(store: SessionStore, key: number, delivery: Delivery) {
    this.#store = store;
    this.#key = key;
    this.#delivery = delivery;
  }

  /** Whether something could not be stored, and nothing new has begun since. */
  get failure(): Error | undefined {
    return this.#commit?.failure;
  }

  /** A turn, or whatever else stands for itself, begins or ends: what was not stored is past. */
  mend(): void {
    if (this.failure !== undefined) this.#commit = undefined;
  }

  /** Resolves when the update is stored and there is room for more. */
  say(update: SessionUpdate): Promise<void> {
    // Made once, for the log and for all clients.
    const text = JSON.stringify(update);
    const {
      failure,
      last: seq,
      stored,
    } = this.#append("agent", `{"kind":"update","update":${text}}`);
    if (failure !== undefined) return stored;
    const kind = update.sessionUpdate;
    this.#entries.push({ seq, kind, text, update, except: undefined });
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
    const { failure, last: seq, stored } = this.#append(directionOf(event), JSON.stringify(event));
    if (failure !== undefined) return stored;
    if (shows.length === 0) this.#entries.push(seq);
    for (const update of shows) {
      this.#entries.push({ seq, kind: update.sessionUpdate, text: "", update, except });
    }
    return stored;
  }

  /** Resolves when all that was said is stored and shown. */
  async settled(): Promise<void> {
    while (this.#commit !== undefined) await this.#commit.stored;
    await this.#delivery.drained();
  }

  #append(direction: "client" | "agent", text: string): Appended {
    const before = this.#commit;
    if (before?.failure !== undefined) return before;
    const commit = this.#store.append(this.#key, direction, text);
    // All that one commit holds is heard of once.
    if (commit !== before) this.#await(commit);
    return commit;
  }

  #await(commit: Appended): void {
    const entries: (PendingUpdate | number)[] = (this.#entries = []);
    this.#commit = commit;
    commit.stored.then(
      () => {
        if (this.#commit === commit) this.#commit = undefined;
        for (const entry of entries) {
          if (typeof entry === "number") this.#delivery.pass(entry);
          else this.#delivery.push(entry);
        }
      },
      // It stays the last, and so refuses what follows.
      () => {},
    );
  }
}
