import type { SessionEvent } from "../event.ts";
import type { Session } from "../session.ts";
import type { SessionStore } from "../store.ts";

/** Records that a turn was interrupted which was running when its process died. */
export async function recoverTurn(
  store: SessionStore,
  session: Session,
  turnId: string,
): Promise<void> {
  let isBegun = false;
  let isEnded = false;
  const open = new Set<string>();
  for await (const { message } of store.read(session.id)) {
    const event = message as SessionEvent;
    if (event.kind === "prompt" && event.turnId === turnId) isBegun = true;
    else if (event.kind === "end" && event.turnId === turnId) isEnded = true;
    else if (event.kind === "update" && isBegun) {
      const { sessionUpdate, toolCallId, status } = event.update;
      if (typeof toolCallId !== "string") continue;
      if (status === "completed" || status === "failed") open.delete(toolCallId);
      else if (sessionUpdate === "tool_call") open.add(toolCallId);
    }
  }
  if (isBegun && !isEnded) {
    const error = "Trunkline ended unexpectedly while it was running";
    await session.interrupt({ turnId, error }, [...open]);
  }
}
