import { TrunklineError } from "../../base/errors.ts";
import { type Stop, Stopper } from "../../base/stop.ts";
import type { Asked } from "./attachments.ts";
import type { SessionClient } from "./client.ts";

export interface PendingQuestionOptions {
  /** Whether a client can show the question, and its answer counts. */
  readonly canAnswer: (client: SessionClient) => boolean;
  /** Asks one client. */
  readonly send: (client: SessionClient, stop: Stop) => Promise<unknown>;
}

/**
 * An open `elicitation/create`. All attached clients that can answer are asked, and those that attach
 * later. The first answer counts; the question is withdrawn from the other clients.
 */
export class PendingQuestion implements Asked<unknown> {
  readonly answered: Promise<unknown>;
  readonly #options: PendingQuestionOptions;
  readonly #settle: PromiseWithResolvers<unknown>;
  readonly #asked = new Map<SessionClient, Stopper>();
  /** Clients that answered with an error. */
  readonly #unable = new Set<SessionClient>();
  #isOver = false;

  constructor(options: PendingQuestionOptions) {
    this.#options = options;
    this.#settle = Promise.withResolvers();
    this.answered = this.#settle.promise;
  }

  ask(client: SessionClient): void {
    const { canAnswer, send } = this.#options;
    if (this.#isOver || this.#asked.has(client) || this.#unable.has(client)) return;
    if (!canAnswer(client)) return;
    const stop = new Stopper();
    this.#asked.set(client, stop);
    send(client, stop).then(
      (answer) => this.#end(client, () => this.#settle.resolve(answer)),
      (error: unknown) => this.#failed(client, error),
    );
  }

  /** Withdraws the question from a client that has detached. */
  forget(client: SessionClient): void {
    this.#asked.get(client)?.stop(new TrunklineError("closed", "The client is no longer attached"));
    this.#asked.delete(client);
  }

  /** The turn is over: as if the person had closed the form. */
  cancel(): void {
    this.#end(undefined, () => this.#settle.resolve({ action: "cancel" }));
  }

  /** Leaves it to the other clients. A client that lost its connection is asked again when it is back. */
  #failed(client: SessionClient, error: unknown): void {
    if (!this.#asked.delete(client)) return;
    if (error instanceof TrunklineError && error.code === "closed") return;
    this.#unable.add(client);
    if (this.#asked.size === 0) this.#end(undefined, () => this.#settle.reject(error));
  }

  #end(by: SessionClient | undefined, settle: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (by !== undefined) this.#asked.delete(by);
    const reason = new TrunklineError("cancelled", "Another client has answered, or nobody has to");
    for (const stop of this.#asked.values()) stop.stop(reason);
    this.#asked.clear();
    settle();
  }
}
