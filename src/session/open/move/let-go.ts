import { setTimeout as delay } from "node:timers/promises";

import type { SessionLog } from "../../../store/session/session-log.ts";
import type { SessionEvent } from "../../event.ts";

/** Milliseconds between two looks whether a tool call has ended. */
const LOOK_AGAIN = 100;

/** Resolves when no turn of a session runs, or when its agent is between two tool calls. */
export async function betweenCalls(
  log: Pick<SessionLog, "find" | "read">,
  id: string,
  signal?: AbortSignal,
): Promise<void> {
  for (;;) {
    const { notes } = (await log.find(id)) ?? {};
    if (typeof notes?.turn !== "string") return;
    const open = new Set<unknown>();
    for await (const batch of log.read(id, Number(notes.turnAfter ?? 0))) {
      for (const { message } of batch) {
        const event = message as SessionEvent;
        if (event.kind !== "update") continue;
        const { sessionUpdate, toolCallId, status } = event.update;
        if (status === "completed" || status === "failed") open.delete(toolCallId);
        else if (sessionUpdate === "tool_call") open.add(toolCallId);
      }
    }
    if (open.size === 0) return;
    await delay(LOOK_AGAIN, undefined, { signal });
  }
}
