import type { EndEvent, SessionEvent } from "../event.ts";
import type { SessionStore } from "../store.ts";

/** The end of a turn, for the answer to its prompt. */
export type EndOfTurn = Pick<EndEvent, "stopReason" | "usage">;

/** A prompt, and the client that sent it. */
export interface SentPrompt {
  readonly prompt: unknown;
  readonly origin: string;
}

/**
 * The end of the turn of a prompt that was sent after an event, for a client that did not get the answer.
 * Undefined if the log has no such prompt: then no agent has worked on it.
 */
export async function endOfPrompt(
  store: Pick<SessionStore, "read">,
  sessionId: string,
  { prompt, origin }: SentPrompt,
  after: number,
): Promise<EndOfTurn | undefined> {
  const wanted = JSON.stringify(prompt);
  let turn: string | undefined;
  for await (const batch of store.read(sessionId, after)) {
    for (const { message } of batch) {
      const event = message as SessionEvent;
      if (event.kind === "prompt" && turn === undefined) {
        // A process of an earlier version does not record where prompts come from.
        const isTheirs = event.origin === undefined || event.origin === origin;
        if (isTheirs && JSON.stringify(event.prompt) === wanted) turn = event.turnId;
      } else if (event.kind === "end" && event.turnId === turn) {
        const { stopReason, usage } = event;
        return usage === undefined ? { stopReason } : { stopReason, usage };
      }
    }
  }
  return turn === undefined ? undefined : { stopReason: "interrupted" };
}
