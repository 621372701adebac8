import type { HistoryEntry, SessionUpdate } from "../agent.ts";
import type { EndEvent, SessionEvent, StoredEvent } from "../event.ts";
import { mergeUpdates } from "../client/merge-updates.ts";

/** Events that are replayed as they came; what follows is merged, so that long ones are not slow. */
const VERBATIM = 400;

export interface Replayed {
  readonly seq: number;
  readonly update: SessionUpdate;
}

/** What was said, as updates for one who was not there. */
export async function* replay(
  events: AsyncIterable<StoredEvent>,
  options: { readonly upTo: number; readonly notices: boolean; readonly maxCharacters: number },
): AsyncGenerator<Replayed> {
  let count = 0;
  let held: Replayed | undefined;
  for await (const { seq, message } of events) {
    if (seq > options.upTo) break;
    for (const update of updatesOf(message as SessionEvent, options.notices)) {
      if (held === undefined) {
        held = { seq, update };
        continue;
      }
      const merged: SessionUpdate | undefined =
        ++count < VERBATIM ? undefined : mergeUpdates(held.update, update, options.maxCharacters);
      if (merged === undefined) {
        yield held;
        held = { seq, update };
      } else {
        held = { seq, update: merged };
      }
    }
  }
  if (held !== undefined) yield held;
}

/** What an event looks like to clients; nothing, where it is between one of them and the agent. */
export function updatesOf(event: SessionEvent, notices: boolean): SessionUpdate[] {
  switch (event.kind) {
    case "prompt":
      return event.prompt.map((content) => ({
        sessionUpdate: "user_message_chunk",
        content,
        messageId: event.messageId ?? event.turnId,
      }));
    case "update":
      // Of these only the present ones are of use; they come after the replay.
      return event.update.sessionUpdate === "available_commands_update" ? [] : [event.update];
    case "end":
      return event.stopReason === "interrupted" ? [interruption(event, notices)] : [];
    case "permission":
    case "answer":
    case "setting":
      return [];
  }
}

/** That a turn had no end is said in whatever form the client can show. */
function interruption({ error, turnId }: EndEvent, notices: boolean): SessionUpdate {
  const why = error ?? "Trunkline was stopped while it was running";
  const _meta = { trunkline: { turn: { id: turnId, state: "interrupted" } } };
  const text = `This turn was interrupted: ${why}`;
  if (notices) {
    const title = "This turn was interrupted";
    return { sessionUpdate: "notice", severity: "warning", title, description: why, _meta };
  }
  const content = { type: "text", text: `\n\n[${text}]\n\n` };
  return { sessionUpdate: "agent_message_chunk", content, _meta };
}

/**
 * What was said up to an event, for an agent that takes the conversation up again. It may look later
 * than it was asked to, and what has been said since is nothing that it could have missed.
 */
export async function* historyOf(
  events: AsyncIterable<StoredEvent>,
  upTo: number,
): AsyncGenerator<HistoryEntry> {
  let turnId: string | undefined;
  for await (const { seq, message } of events) {
    if (seq > upTo) break;
    const event = message as SessionEvent;
    if (event.kind === "prompt") turnId = event.turnId;
    if (event.kind === "update") yield turnId === undefined ? event : { ...event, turnId };
    if (event.kind === "prompt" || event.kind === "end") yield event;
    if (event.kind === "end") turnId = undefined;
  }
}
