import { background } from "../../base/background.ts";
import type { SessionUpdate } from "../agent.ts";
import type { SessionClient, ShownUpdate } from "./client.ts";
import { Delivery, toShown } from "./delivery.ts";
import { roomIn } from "./fit-update.ts";
import type { PendingAnswer } from "./pending-answer.ts";
import type { SessionLimits } from "../limits.ts";
import { replay, type ReplayOptions } from "../turn/replay.ts";
import type { SessionStore } from "../store.ts";
import { setTimeout as delay } from "node:timers/promises";

const TAKEN_WORDS =
  "Another Trunkline has taken this session over while this one did not answer. It goes on there.";

/** Tells a client that its session continues in another process. */
const TAKEN: SessionUpdate = {
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text: `\n\n_${TAKEN_WORDS}_\n\n` },
  _meta: { "trunkline/aside": true },
};

/** The attached clients of a session: sends them updates, live or from the log, and asks them. */
export class Audience {
  readonly #options: AttachmentOptions;
  readonly #attachments = new Map<SessionClient, Attachment>();
  readonly #pending = new Set<Pick<PendingAnswer<unknown>, "ask" | "forget" | "cancel">>();
  #leftAt = performance.now();
  readonly delivery: Delivery;
  readonly #sessionId: string;
  readonly #store: SessionStore;
  readonly #limits: SessionLimits;
  #commands: SessionUpdate | undefined;
  /** The last notification of each method. */
  readonly #told = new Map<string, object>();
  /** Number of the last event before the session was opened; undefined once a client has attached. */
  #opened: number | undefined;

  /** `last` is the number of the last stored event. */
  constructor(sessionId: string, last: number, store: SessionStore, limits: SessionLimits) {
    this.#sessionId = sessionId;
    this.#store = store;
    this.#limits = limits;
    this.#opened = last;
    this.#options = {
      sessionId,
      counts: (messages) => this.delivery.counts(messages),
      missed: (client, after, upTo) => this.#missed(client, after, upTo),
    };
    this.delivery = new Delivery(last, {
      rate: limits.updateRate,
      maxSize: limits.updateSize,
      show: (shown, except) => this.#show(shown, except),
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
    const attachment = new Attachment(client, this.#opened ?? last, this.#options);
    this.#opened = undefined;
    this.#attachments.set(client, attachment);
    for (const pending of this.#pending) pending.ask(client);
    for (const [method, params] of this.#told) client.notify?.(method, params);
    attachment.catchUp(last);
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
    this.#opened = undefined;
    const origin = after === undefined || client.isEchoed === true ? undefined : client.origin;
    for (let from = after ?? 0; ;) {
      const upTo = this.delivery.last;
      for await (const batch of this.#replay(client, from, { upTo, origin, settings })) {
        for (const { seq, update } of batch) {
          const room = this.#showTo(client, seq, update);
          if (room !== undefined) await room;
        }
      }
      from = Math.max(from, upTo);
      // No event came in during the replay, so the client has missed none.
      if (this.delivery.last <= from) break;
    }
    this.attach(client);
  }

  detach(client: SessionClient): void {
    const attachment = this.#attachments.get(client);
    attachment?.end();
    if (this.#attachments.delete(client)) this.#leftAt = performance.now();
    for (const pending of this.#pending) pending.forget(client);
    client.detached?.(this.#sessionId);
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
    using ends = new DisposableStack();
    ends.defer(() => this.#pending.delete(pending));
    // The turn may be cancelled before everything was shown.
    await Promise.race([ready, pending.answered]);
    for (const [client, attachment] of this.#attachments) {
      const asked = attachment.caughtUp().then(() => {
        if (this.#attachments.get(client) === attachment) pending.ask(client);
      });
      background(asked, "Asking a client");
    }
    return await pending.answered;
  }

  cancelAsking(): void {
    for (const pending of this.#pending) pending.cancel();
  }

  /** The updates that an attached client has missed. */
  async *#missed(client: SessionClient, after: number, upTo: number): AsyncGenerator<ShownUpdate> {
    const origin = client.isEchoed === true ? undefined : client.origin;
    const options = { upTo, origin, isAttached: true };
    for await (const batch of this.#replay(client, after, options)) {
      for (const { seq, update } of batch) yield* this.#shownAs(seq, update, true);
    }
  }

  #replay(
    { capabilities: { notices } }: SessionClient,
    after: number,
    options: Omit<ReplayOptions, "notices" | "maxBytes">,
  ) {
    const maxBytes = roomIn(this.#limits.updateSize);
    return replay(this.#store.read(this.#sessionId, after), { ...options, notices, maxBytes });
  }

  /** Sends a notification that is no update to all clients, and to those that attach later. */
  notify(method: string, params: object): void {
    // The end of a question is not sent to clients that attach later.
    if (method !== "elicitation/complete") this.#told.set(method, params);
    for (const client of this.#attachments.keys()) client.notify?.(method, params);
  }

  /** Sends one client an update that is not stored. */
  tell(client: SessionClient, update: SessionUpdate): void {
    for (const shown of this.#shownAs(this.delivery.last, update)) {
      this.delivery.counts();
      this.#attachments.get(client)?.show(shown);
    }
  }

  /** Sends an update that is not stored. */
  announce(update: SessionUpdate, except: SessionClient | undefined): void {
    for (const shown of this.#shownAs(this.delivery.last, update)) {
      this.delivery.counts();
      this.#show(shown, except);
    }
  }

  /** Detaches all clients. If another process has the session now, they go on there. */
  close(isTaken: boolean): void {
    this.delivery.close();
    for (const [client, { last }] of [...this.#attachments]) {
      if (isTaken) background(this.#showTo(client, last, TAKEN), "Telling a client");
      this.detach(client);
      if (isTaken) client.taken?.(this.#sessionId, last);
    }
  }

  #show(shown: ShownUpdate, except: SessionClient | undefined): void {
    for (const attachment of this.#attachments.values()) {
      if (attachment.client !== except) attachment.show(shown);
    }
  }

  #showTo(client: SessionClient, seq: number, update: SessionUpdate): Promise<void> | undefined {
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

export interface AttachmentOptions {
  readonly sessionId: string;
  /** Counts the messages that a client gets beyond one for each update. */
  readonly counts: (messages: number) => void;
  /** Reads the updates for a client from the log: those of the events after one, up to another. */
  readonly missed: (client: SessionClient, after: number, to: number) => AsyncIterable<ShownUpdate>;
}

/** Updates that are read from the log when their turn comes. */
interface Gap {
  readonly after: number;
  upTo: number;
}

/** Milliseconds until the log is read again, where that failed. */
const RETRY = 1_000;
/** Updates that wait for one client, and that the log does not have. */
const MOST_STATES = 1_000;

/**
 * One client attached to one session. Updates that it has no room for are read from the log later; those that
 * the log does not have wait in a queue. So a slow client delays nobody else and misses nothing.
 */
export class Attachment {
  readonly client: SessionClient;
  readonly #options: AttachmentOptions;
  readonly #queue: (ShownUpdate | Gap)[] = [];
  #isBusy = false;
  #isOver = false;
  /** Number of the last event of the log that was sent. */
  #sent: number;
  /** Number of the last event of the log that was sent or is queued. */
  #known: number;
  /** Number of the last event that was read from the log. */
  #read = 0;
  #caughtUp: PromiseWithResolvers<void> | undefined;

  constructor(client: SessionClient, last: number, options: AttachmentOptions) {
    this.client = client;
    this.#sent = this.#known = last;
    this.#options = options;
  }

  /** Number of the last event that the client was shown. */
  get last(): number {
    return this.#sent;
  }

  show(shown: ShownUpdate): void {
    if (shown.isInLog === true && shown.seq <= this.#read) return;
    if (this.#isBusy) this.#keep(shown);
    else {
      const room = this.#send(shown);
      if (room !== undefined) background(this.#sendRest(room), "Showing what waited");
    }
  }

  /** Shows what the log has up to an event. */
  catchUp(upTo: number): void {
    if (upTo <= this.#known) return;
    this.#queue.push({ after: this.#known, upTo });
    this.#known = upTo;
    background(this.#sendRest(), "Showing what came before");
  }

  /** Resolves when the client has been sent everything. */
  async caughtUp(): Promise<void> {
    if (!this.#isBusy || this.#isOver) return;
    this.#caughtUp ??= Promise.withResolvers<void>();
    await this.#caughtUp.promise;
  }

  /** Detaches the client and drops what waits for it. */
  end(): void {
    this.#isOver = true;
    this.#queue.length = 0;
    this.#settle();
  }

  #keep(shown: ShownUpdate): void {
    const { seq, isInLog = false } = shown;
    const last = this.#queue.at(-1);
    if (isInLog && last !== undefined && "after" in last) last.upTo = seq;
    else if (isInLog && seq > this.#known) this.#queue.push({ after: this.#known, upTo: seq });
    else {
      // The remaining updates of an event that was begun are queued as well, so that it stays together.
      this.#queue.push(shown);
      const states = this.#queue.filter(isState);
      // A later state replaces this one.
      if (states.length > MOST_STATES) this.#queue.splice(this.#queue.findIndex(isState), 1);
    }
    if (isInLog) this.#known = seq;
  }

  #send(shown: ShownUpdate): Promise<void> | undefined {
    if (shown.isInLog === true) {
      this.#sent = shown.seq;
      this.#known = Math.max(this.#known, shown.seq);
    }
    const { sessionId, counts } = this.#options;
    return this.client.show(sessionId, shown, counts);
  }

  async #sendRest(room?: Promise<void>): Promise<void> {
    this.#isBusy = true;
    await room;
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      if ("after" in next) await this.#catchUp(next);
      else {
        this.#queue.shift();
        await this.#send(next);
      }
    }
    this.#isBusy = false;
    this.#settle();
  }

  /** Sends what the log has of a gap, which may grow meanwhile. */
  async #catchUp(gap: Gap): Promise<void> {
    let from = gap.after;
    while (!this.#isOver && from < gap.upTo) {
      const { upTo } = gap;
      try {
        for await (const shown of this.#options.missed(this.client, from, upTo)) {
          if (this.#isOver) return;
          await this.#send(shown);
          from = shown.seq;
        }
        from = upTo;
      } catch {
        // While the store fails, other clients see no new event either.
        await delay(RETRY, undefined, { ref: false });
      }
    }
    this.#read = this.#sent = from;
    this.#queue.shift();
  }

  #settle(): void {
    this.#caughtUp?.resolve();
    this.#caughtUp = undefined;
  }
}

/** An update that the log does not have. */
function isState(each: ShownUpdate | Gap): boolean {
  return !("after" in each) && each.isInLog !== true;
}
