import { background } from "../../base/background.ts";
import { Attachment, type AttachmentOptions } from "./attachment.ts";
import type { SessionClient, ShownUpdate } from "./client.ts";

/** Something that the clients of a session are asked until one has answered. */
export interface PendingAnswer<T> {
  readonly answered: Promise<T>;
  ask(client: SessionClient): void;
  /** The client has detached. */
  forget(client: SessionClient): void;
  cancel(): void;
}

/** The clients that are attached to a session, and what they were asked. */
export class Attachments {
  readonly #options: AttachmentOptions;
  readonly #attachments = new Map<SessionClient, Attachment>();
  readonly #pending = new Set<PendingAnswer<unknown>>();
  #leftAt = performance.now();

  constructor(options: AttachmentOptions) {
    this.#options = options;
  }

  /** All attached clients, `first` before the others. */
  clients(first?: SessionClient): SessionClient[] {
    const all = [...this.#attachments.keys()];
    if (first === undefined || !this.#attachments.has(first)) return all;
    return [first, ...all.filter((client) => client !== first)];
  }

  get isEmpty(): boolean {
    return this.#attachments.size === 0;
  }

  has(client: SessionClient): boolean {
    return this.#attachments.has(client);
  }

  /** Milliseconds since the last client left; 0 while one is attached. */
  get emptyFor(): number {
    return this.isEmpty ? performance.now() - this.#leftAt : 0;
  }

  /** Shows the client all updates after the event `last`, and asks it what nobody has answered. */
  attach(client: SessionClient, last: number): void {
    this.#attachments.get(client)?.end();
    this.#attachments.set(client, new Attachment(client, last, this.#options));
    for (const pending of this.#pending) pending.ask(client);
  }

  /** Returns the number of the last event that the client was shown. */
  detach(client: SessionClient): number {
    const attachment = this.#attachments.get(client);
    attachment?.end();
    if (this.#attachments.delete(client)) this.#leftAt = performance.now();
    for (const pending of this.#pending) pending.forget(client);
    return attachment?.last ?? 0;
  }

  showTo(client: SessionClient, shown: ShownUpdate): void {
    this.#attachments.get(client)?.show(shown);
  }

  show(shown: ShownUpdate, except: SessionClient | undefined): void {
    for (const attachment of this.#attachments.values()) {
      if (attachment.client !== except) attachment.show(shown);
    }
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
}
