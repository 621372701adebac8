import type { SessionUpdate } from "../agent.ts";
import type { SessionClient } from "../client/client.ts";
import type { Delivery, PendingUpdate } from "../client/delivery.ts";
import { textAfter } from "../client/merged-update.ts";
import { directionOf, type SessionEvent } from "../event.ts";
import type { AppendResult, SessionStore } from "../store.ts";
import { isReplayed } from "./replay.ts";

const NOTHING: readonly SessionUpdate[] = [];

/**
 * Appends the events of a session to the log, and sends them to clients once they are on disk.
 *
 * After a failed commit all further events are refused with the same error, since the log would have a
 * gap. `clearFailure` ends that when a turn begins or ends.
 */
export class Transcript {
  readonly #store: SessionStore;
  readonly #key: number;
  readonly #delivery: Delivery;
  /** The commit that is awaited or has failed. `#entries` are sent to clients, or only counted, after it. */
  #commit: AppendResult | undefined;
  #entries: (PendingUpdate | number)[] = [];
  /** The update of the last event; undefined if that was no update. */
  #said: SessionUpdate | undefined;

  constructor(store: SessionStore, key: number, delivery: Delivery) {
    this.#store = store;
    this.#key = key;
    this.#delivery = delivery;
  }

  /** Why the last commit failed, until `clearFailure`. */
  get failure(): Error | undefined {
    return this.#commit?.failure;
  }

  /** Accepts events again after a failed commit. */
  clearFailure(): void {
    if (this.failure !== undefined) this.#commit = undefined;
  }

  /** Resolves when the update is stored and there is room for more. */
  say(update: SessionUpdate): Promise<void> {
    // Serialized once, for the log and for all clients.
    const text = JSON.stringify(update);
    const message = `{"kind":"update","update":${text}}`;
    const added = this.#said && textAfter(this.#said, update);
    const addedText = added === undefined ? undefined : JSON.stringify(added);
    const { failure, last: seq, stored } = this.#append("agent", message, addedText);
    if (failure !== undefined) return stored;
    this.#said = update;
    const kind = update.sessionUpdate;
    const isInLog = isReplayed(update);
    this.#entries.push({ seq, kind, text, update, except: undefined, isInLog });
    const { room } = this.#delivery;
    if (room === undefined) return stored;
    const roomy = stored.then(() => room);
    // The caller need not await it.
    roomy.catch(() => {});
    return roomy;
  }

  /** Resolves when the event is stored. Clients but `except` get `shows`. */
  record(
    event: SessionEvent,
    shows: readonly SessionUpdate[] = NOTHING,
    except?: SessionClient,
  ): Promise<void> {
    this.#said = undefined;
    const { failure, last: seq, stored } = this.#append(directionOf(event), JSON.stringify(event));
    if (failure !== undefined) return stored;
    if (shows.length === 0) this.#entries.push(seq);
    const isInLog = event.kind === "prompt";
    for (const update of shows) {
      this.#entries.push({ seq, kind: update.sessionUpdate, text: "", update, except, isInLog });
    }
    return stored;
  }

  /** Resolves when all events are stored and sent. */
  async settled(): Promise<void> {
    while (this.#commit !== undefined) await this.#commit.stored;
    await this.#delivery.drained();
  }

  #append(direction: "client" | "agent", message: string, text?: string): AppendResult {
    const before = this.#commit;
    if (before?.failure !== undefined) return before;
    const commit = this.#store.append(this.#key, direction, message, text);
    // All events of one commit are handled together.
    if (commit !== before) this.#await(commit);
    return commit;
  }

  #await(commit: AppendResult): void {
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
      // The failed commit stays, and so refuses further events.
      () => {},
    );
  }
}
