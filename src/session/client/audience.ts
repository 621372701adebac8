import { background } from "../../base/background.ts";
import type { SessionUpdate } from "../agent.ts";
import { Attachment, type AttachmentOptions, isFor } from "./attachment.ts";
import type { SessionClient, ShownUpdate } from "./client.ts";
import { Delivery, toShown } from "./delivery.ts";
import { roomIn } from "./fit-update.ts";
import type { SessionLimits } from "../limits.ts";
import { replay } from "../turn/replay.ts";
import type { SessionStore } from "../store.ts";

const TAKEN_WORDS =
  "Another Trunkline has taken this session over while this one did not answer. It goes on there.";

/** Tells a client why its session goes on in another process. */
const TAKEN: SessionUpdate = {
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text: `\n\n_${TAKEN_WORDS}_\n\n` },
  _meta: { "trunkline/aside": true },
};

/** Something that the clients of a session are asked until one has answered. */
export interface PendingAnswer<T> {
  readonly answered: Promise<T>;
  ask(client: SessionClient): void;
  /** The client has detached. */
  forget(client: SessionClient): void;
  cancel(): void;
}

/** The attached clients of a session: sends them updates, live or from the log, and asks them. */
export class Audience {
  readonly #options: AttachmentOptions;
  readonly #attachments = new Map<SessionClient, Attachment>();
  readonly #pending = new Set<PendingAnswer<unknown>>();
  #leftAt = performance.now();
  readonly delivery: Delivery;
  readonly #sessionId: string;
  readonly #store: SessionStore;
  readonly #limits: SessionLimits;
  #commands: SessionUpdate | undefined;
  /** Updates from before the first client attached; undefined once one has, or the limit is exceeded. */
  #early: ShownUpdate[] | undefined = [];
  #earlyCharacters = 0;

  /** `last` is the number of the last stored event. */
  constructor(sessionId: string, last: number, store: SessionStore, limits: SessionLimits) {
    this.#sessionId = sessionId;
    this.#store = store;
    this.#limits = limits;
    const { backlog } = limits;
    this.#options = {
      ...{ sessionId, backlog },
      missed: (client, after, upTo) => this.#missed(client, after, upTo),
    };
    this.delivery = new Delivery(last, {
      rate: limits.updateRate,
      maxSize: limits.updateSize,
      show: (shown, except) => {
        if (this.#early !== undefined) this.#keep(this.#early, shown);
        this.#show(shown, except);
      },
    });
  }

  /** All attached clients, `first` before the others. */
  clients(first?: SessionClient): SessionClient[] {
    const all = [...this.#attachments.keys()];
    if (first === undefined || !this.#attachments.has(first)) return all;
    return [first, ...all.filter((client) => client !== first)];
  }

  has(client: SessionClient): boolean {
    return this.#attachments.has(client);
  }

  /** Milliseconds since the last client left; 0 while one is attached. */
  get emptyFor(): number {
    return this.#attachments.size === 0 ? performance.now() - this.#leftAt : 0;
  }

  /** The current slash commands, which are shown to each client that attaches. */
  set commands(update: SessionUpdate) {
    this.#commands = update;
  }

  /**
   * Shows the client all updates from now on, and asks it what nobody has answered. The first client also gets
   * the updates that the agent sent while the session was opened.
   */
  attach(client: SessionClient): void {
    // The client may have disconnected while the session was opened.
    if (client.isGone) return;
    const { last } = this.delivery;
    this.#attachments.get(client)?.end();
    const attachment = new Attachment(client, last, this.#options);
    this.#attachments.set(client, attachment);
    for (const pending of this.#pending) pending.ask(client);
    for (const shown of this.#early ?? []) attachment.show(shown);
    this.#early = undefined;
    if (this.#commands !== undefined)
      background(this.#showTo(client, last, this.#commands), "Showing the commands");
  }

  /**
   * Shows the client the events after `after`, then attaches it. A client that has seen that event knows its
   * own prompts; without `after` it is shown everything. `settings` are shown if one was changed.
   */
  async replayTo(
    client: SessionClient,
    after?: number,
    settings?: readonly SessionUpdate[],
  ): Promise<void> {
    this.detach(client);
    this.#early = undefined;
    const { notices } = client.capabilities;
    const origin = after === undefined || client.isEchoed === true ? undefined : client.origin;
    for (let from = after ?? 0; ;) {
      const upTo = this.delivery.last;
      const options = {
        upTo,
        notices,
        maxBytes: roomIn(this.#limits.updateSize),
        origin,
        settings,
      };
      const events = this.#store.read(this.#sessionId, from);
      for await (const { seq, update } of replay(events, options)) {
        await this.#showTo(client, seq, update);
      }
      from = Math.max(from, upTo);
      // No event came in during the replay, so the client has missed none.
      if (this.delivery.last <= from) break;
    }
    this.attach(client);
  }

  /** Returns the number of the last event that the client was shown. */
  detach(client: SessionClient): number {
    const attachment = this.#attachments.get(client);
    attachment?.end();
    if (this.#attachments.delete(client)) this.#leftAt = performance.now();
    for (const pending of this.#pending) pending.forget(client);
    return attachment?.last ?? 0;
  }

  /** Resolves when the client has been sent all updates so far. */
  async caughtUp(client: SessionClient): Promise<void> {
    await this.#attachments.get(client)?.caughtUp();
  }

  /**
   * Asks all clients until one has answered. A client is asked once `ready` has resolved and it has
   * been sent all updates before the question.
   */
  async ask<T>(pending: PendingAnswer<T>, ready: Promise<void>): Promise<T> {
    this.#pending.add(pending);
    try {
      // The turn may be cancelled before everything was shown.
      await Promise.race([ready, pending.answered]);
      for (const [client, attachment] of this.#attachments) {
        background(
          attachment.caughtUp().then(() => {
            if (this.#attachments.get(client) === attachment) pending.ask(client);
          }),
          "Asking a client",
        );
      }
      return await pending.answered;
    } finally {
      this.#pending.delete(pending);
    }
  }

  cancelAsking(): void {
    for (const pending of this.#pending) pending.cancel();
  }

  /** The updates that an attached client has missed. */
  async *#missed(client: SessionClient, after: number, upTo: number): AsyncGenerator<ShownUpdate> {
    const { notices } = client.capabilities;
    const maxBytes = roomIn(this.#limits.updateSize);
    const origin = client.isEchoed === true ? undefined : client.origin;
    const options = { upTo, notices, maxBytes, origin, isAttached: true };
    for await (const { seq, update } of replay(this.#store.read(this.#sessionId, after), options)) {
      if (isFor(client, update.sessionUpdate)) yield* this.#shownAs(seq, update, true);
    }
  }

  /** Sends one client an update that is not stored. */
  tell(client: SessionClient, update: SessionUpdate): void {
    for (const shown of this.#shownAs(this.delivery.last, update)) {
      this.#attachments.get(client)?.show(shown);
    }
  }

  /** Sends an update that is not stored. */
  announce(update: SessionUpdate, except: SessionClient | undefined): void {
    for (const shown of this.#shownAs(this.delivery.last, update)) {
      this.#show(shown, except);
    }
  }

  /** Detaches all clients. If another process has the session now, they go on there. */
  close(isTaken: boolean): void {
    this.delivery.close();
    for (const client of this.clients()) {
      const last = this.detach(client);
      if (!isTaken) continue;
      background(this.#showTo(client, last, TAKEN), "Telling a client");
      client.taken?.(this.#sessionId, last);
    }
  }

  #show(shown: ShownUpdate, except: SessionClient | undefined): void {
    for (const attachment of this.#attachments.values()) {
      if (attachment.client !== except) attachment.show(shown);
    }
  }

  #keep(early: ShownUpdate[], shown: ShownUpdate): void {
    // Each client gets the current commands when it attaches.
    if (shown.kind === "available_commands_update") return;
    early.push(shown);
    this.#earlyCharacters += shown.text.length;
    const { updates, characters } = this.#limits.backlog;
    const isTooMuch = early.length > updates || this.#earlyCharacters > characters;
    if (isTooMuch) this.#early = undefined;
  }

  #showTo(client: SessionClient, seq: number, update: SessionUpdate): Promise<void> | undefined {
    if (!isFor(client, update.sessionUpdate)) return undefined;
    let room: Promise<void> | undefined;
    for (const shown of this.#shownAs(seq, update)) {
      room = client.show(this.#sessionId, shown) ?? room;
    }
    return room;
  }

  #shownAs(seq: number, update: SessionUpdate, isInLog = false): readonly ShownUpdate[] {
    const pending = { seq, kind: update.sessionUpdate, text: "", update, isInLog };
    return toShown(pending, this.#limits.updateSize);
  }
}
