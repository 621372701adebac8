import { onAbort } from "../../base/abort.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { SessionNotes } from "../session-notes.ts";
import type { Transcript } from "../turn/transcript.ts";
import type { Audience, PendingAnswer } from "./audience.ts";
import type { SessionClient } from "./client.ts";

interface PendingQuestionOptions {
  /** Whether a client can show the question, and its answer counts. */
  readonly canAnswer: (client: SessionClient) => boolean;
  /** Asks one client. */
  readonly send: (client: SessionClient, signal: AbortSignal) => Promise<unknown>;
}

/**
 * An open `elicitation/create`. All attached clients that can answer are asked, and those that attach
 * later. The first answer counts; the question is withdrawn from the other clients.
 */
export class PendingQuestion implements PendingAnswer<unknown> {
  readonly answered: Promise<unknown>;
  readonly #options: PendingQuestionOptions;
  readonly #settle: PromiseWithResolvers<unknown>;
  readonly #asked = new Map<SessionClient, AbortController>();
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
    const controller = new AbortController();
    this.#asked.set(client, controller);
    send(client, controller.signal).then(
      (answer) => this.#end(client, () => this.#settle.resolve(answer)),
      (error: unknown) => this.#failed(client, error),
    );
  }

  /** Withdraws the question from a client that has detached. */
  forget(client: SessionClient): void {
    this.#asked
      .get(client)
      ?.abort(new TrunklineError("closed", "The client is no longer attached"));
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
    for (const controller of this.#asked.values()) controller.abort(reason);
    this.#asked.clear();
    settle();
  }
}

interface QuestionsOptions {
  readonly sessionId: string;
  readonly audience: Audience;
  readonly transcript: Transcript;
  readonly notes: SessionNotes;
  readonly log: Log;
  /** Tells people who are away that there is a question. */
  readonly noticed: (message: string | undefined) => void;
}

/** A question to a person, as the notes of its session have it while nobody has answered. */
export interface OpenQuestion {
  readonly turn: string;
  readonly message: string | undefined;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** Asks people the questions of agents, and lets other processes see in which session one is open. */
export class Questions {
  readonly #options: QuestionsOptions;
  readonly #open = new Set<OpenQuestion>();

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  async ask(
    { id, signal }: { readonly id: string; readonly signal: AbortSignal },
    message: string | undefined,
    pending: PendingQuestion,
  ): Promise<unknown> {
    const { audience, transcript, noticed } = this.#options;
    const open: OpenQuestion = { turn: id, message, since: Date.now() };
    const stopListening = onAbort(signal, () => pending.cancel());
    this.#open.add(open);
    this.#keep();
    noticed(message);
    try {
      return await audience.ask(pending, transcript.settled());
    } finally {
      stopListening();
      this.#open.delete(open);
      this.#keep();
    }
  }

  /** The question is asked, even if this cannot be stored. */
  #keep(): void {
    const { notes, log, sessionId: session } = this.#options;
    const [question] = this.#open;
    notes.keep({ question }).catch((error: unknown) => {
      log.error("session.not-stored", { session, error });
    });
  }
}
