import type { Log } from "../../base/log.ts";
import type { Stop } from "../../base/stop.ts";
import type { SessionNotes } from "../session-notes.ts";
import type { Transcript } from "../turn/transcript.ts";
import type { Audience } from "./audience.ts";
import type { PendingQuestion } from "./pending-question.ts";

export interface QuestionsOptions {
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
    { id, stop }: { readonly id: string; readonly stop: Stop },
    message: string | undefined,
    pending: PendingQuestion,
  ): Promise<unknown> {
    const { audience, transcript, noticed } = this.#options;
    const open: OpenQuestion = { turn: id, message, since: Date.now() };
    const stopped = { stopped: () => pending.cancel() };
    stop.add(stopped);
    this.#open.add(open);
    this.#keep();
    noticed(message);
    try {
      return await audience.attachments.ask(pending, transcript.settled());
    } finally {
      stop.remove(stopped);
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
