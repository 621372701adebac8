import { mayControl, OWNER, type Principal } from "../../base/principal.ts";
import type { SessionClient } from "../client/client.ts";

/** Whose answer to a permission request or a question counts. */
export type AnswerPolicy = "first" | "asker" | "owner";

/** Somebody who answers: a client, or a person with a link from a notification. */
export type Answerer = Pick<SessionClient, "name" | "principal" | "isObserver">;

/** What a request belongs to. */
export interface Asking {
  readonly sessionId: string;
  /** The client whose prompt caused the request. */
  readonly asker: SessionClient | undefined;
  /** The principal of that client, which counts after the client has disconnected. */
  readonly principal: Principal;
}

/**
 * Why an answer does not count; undefined if it does. It depends on how a client has authenticated and on
 * its connection, never on what the client says about itself.
 */
export function answerRefusal(
  policy: AnswerPolicy,
  { sessionId, asker, principal }: Asking,
  who: Answerer,
): string | undefined {
  if (!isController(who, sessionId)) return "you observe this session and cannot answer";
  switch (policy) {
    case "first":
      return undefined;
    case "owner":
      if (who.principal.id === OWNER.id) return undefined;
      return "only the owner of this gateway may answer (`sessions.permissions` is 'owner')";
    case "asker": {
      if (who === asker) return undefined;
      // The client that prompted may have lost its connection. Another one of the same principal replaces it.
      const isReplaced = asker === undefined || asker.isGone;
      if (isReplaced && who.principal.id === principal.id) return undefined;
      const name = asker === undefined ? "" : ` ('${asker.name}')`;
      return `only the client that sent the prompt${name} may answer (\`sessions.permissions\` is 'asker')`;
    }
  }
}

/** Whether a client may prompt, cancel and answer in a session, and not only watch it. */
export function isController(
  { principal, isObserver }: Pick<SessionClient, "principal" | "isObserver">,
  sessionId: string,
): boolean {
  return mayControl(principal) && isObserver?.(sessionId) !== true;
}
