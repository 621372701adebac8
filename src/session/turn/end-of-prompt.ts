import type { EndEvent, SessionEvent } from "../event.ts";
import type { SessionStore } from "../store.ts";

/** How a turn ended, as its prompt is answered. */
export type EndOfTurn = Pick<EndEvent, "stopReason" | "usage">;

/** A prompt, and the client that sent it. */
export interface SentPrompt {
  readonly prompt: unknown;
  readonly origin: string;
}

/**
 * How the turn of a prompt ended that was sent after an event, for whoever did not hear the answer.
 * Undefined where the log has no such prompt: then nobody has worked on it.
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
