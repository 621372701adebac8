import { TrunklineError } from "../../base/errors.ts";
import type { SessionClient } from "./client.ts";

/**
 * A request that is sent to all attached clients of a session, and to those that attach later, until one has
 * answered. It is then withdrawn from the others.
 */
export abstract class PendingAnswer<T> {
  readonly #settled = Promise.withResolvers<T>();
  readonly answered = this.#settled.promise;
  /** The clients with an open request, and what cancels it. */
  protected readonly asked = new Map<SessionClient, AbortController>();
  /** Clients that answered with an error, or with nothing that is an answer. */
  readonly #unable = new Set<SessionClient>();
  protected isOver = false;

  abstract cancel(): void;
  protected abstract mayAsk(client: SessionClient): boolean;
  protected abstract send(client: SessionClient, signal: AbortSignal): Promise<unknown>;
  /** Handles an answer of a client. False if it is not valid. */
  protected abstract answers(client: SessionClient, answer: unknown): boolean;
  /** The client cannot answer, and leaves it to the others. `sent` is the request to it. */
  protected abstract isUnable(client: SessionClient, sent: Promise<unknown>): void;

  ask(client: SessionClient): void {
    if (this.isOver || this.asked.has(client) || this.#unable.has(client)) return;
    if (!this.mayAsk(client)) return;
    const controller = new AbortController();
    this.asked.set(client, controller);
    const sent = this.send(client, controller.signal);
    sent.then(
      (answer) => {
        if (!this.isOver && !this.answers(client, answer)) this.#failed(client, sent);
      },
      (error: unknown) => {
        // A client that lost its connection may attach again and is then asked again.
        if (error instanceof TrunklineError && error.code === "closed") this.asked.delete(client);
        else this.#failed(client, sent);
      },
    );
  }

  /** Withdraws the request from a client that has detached. */
  forget(client: SessionClient): void {
    const reason = new TrunklineError("closed", "The client is no longer attached");
    this.asked.get(client)?.abort(reason);
    this.asked.delete(client);
  }

  #failed(client: SessionClient, sent: Promise<unknown>): void {
    if (!this.asked.delete(client) || this.isOver) return;
    this.#unable.add(client);
    this.isUnable(client, sent);
  }

  protected end(answer: T | Promise<T>, why: string, by?: SessionClient): void {
    if (this.isOver) return;
    this.isOver = true;
    if (by !== undefined) this.asked.delete(by);
    for (const controller of this.asked.values()) {
      controller.abort(new TrunklineError("cancelled", why));
    }
    this.asked.clear();
    this.#settled.resolve(answer);
  }
}
