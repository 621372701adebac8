import type { SessionEvent } from "../event.ts";
import type { Session } from "../session.ts";
import type { UnansweredRequest } from "../permission/permissions.ts";
import type { SessionStore } from "../store.ts";

/**
 * Records that a turn was interrupted because its process died. Returns the last permission request of that
 * turn, if nobody had answered it.
 */
export async function recover(
  store: SessionStore,
  session: Session,
): Promise<UnansweredRequest | undefined> {
  const { turn: turnId, turnAfter: after = 0, permission } = session.notes;
  // The open question in the notes: of an earlier turn, or of this one if it was recovered in part.
  const noted = permission as UnansweredRequest | undefined;
  if (typeof turnId !== "string") return noted;
  let isBegun = false;
  let isEnded = false;
  const open = new Set<string>();
  let unanswered = noted;
  // Not the whole log, which may be long: many sessions are opened at once where a worker is lost.
  const events = (await Array.fromAsync(store.read(session.id, after))).flat();
  for (const { message } of events) {
    const event = message as SessionEvent;
    if (event.kind === "prompt" && event.turnId === turnId) isBegun = true;
    else if (event.kind === "end" && event.turnId === turnId) isEnded = true;
    else if (event.kind === "permission" && event.turnId === turnId) unanswered = event;
    else if (event.kind === "answer" && event.requestId === unanswered?.requestId) {
      unanswered = undefined;
    } else if (event.kind === "update" && isBegun) {
      const { sessionUpdate, toolCallId, status } = event.update;
      if (typeof toolCallId !== "string") continue;
      if (status === "completed" || status === "failed") open.delete(toolCallId);
      else if (sessionUpdate === "tool_call") open.add(toolCallId);
    }
  }
  if (!isBegun) return unanswered;
  // The process that recorded the end was killed before it updated the notes. Questions that it noted before
  // are still open.
  if (isEnded) return unanswered?.requestId === noted?.requestId ? unanswered : undefined;
  const error = "Trunkline ended unexpectedly while it was running";
  const question = unanswered && { requestId: unanswered.requestId, request: unanswered.request };
  // The question is noted first, because this process may be killed before it has asked.
  if (question !== undefined) await session.keepQuestion(question);
  await session.interrupt({ turnId, error }, [...open]);
  return question;
}
