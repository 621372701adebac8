import { PendingAnswer } from "./pending-answer.ts";
import type { SessionClient } from "./client.ts";

interface PendingQuestionOptions {
  /** Whether a client can show the question, and its answer counts. */
  readonly canAnswer: (client: SessionClient) => boolean;
  /** Asks one client. */
  readonly send: (client: SessionClient, signal: AbortSignal) => Promise<unknown>;
}

/** An open `elicitation/create`. The first answer counts. */
export class PendingQuestion extends PendingAnswer<unknown> {
  readonly #options: PendingQuestionOptions;

  constructor(options: PendingQuestionOptions) {
    super();
    this.#options = options;
  }

  /** The turn is over: the answer is the same as when a person closes the form. */
  cancel(): void {
    this.end({ action: "cancel" }, "Nobody has to answer any more");
  }

  protected override mayAsk(client: SessionClient): boolean {
    return this.#options.canAnswer(client);
  }

  protected override send(client: SessionClient, signal: AbortSignal): Promise<unknown> {
    return this.#options.send(client, signal);
  }

  protected override answers(client: SessionClient, answer: unknown): boolean {
    this.end(answer, "Another client has answered", client);
    return true;
  }

  protected override isUnable(_: SessionClient, failed: Promise<unknown>): void {
    if (this.asked.size === 0) this.end(failed, "");
  }
}

/** A question to a person, as the notes of its session have it while nobody has answered. */
export interface OpenQuestion {
  readonly turn: string;
  readonly message: string | undefined;
  /** Milliseconds since 1970. */
  readonly since: number;
}
