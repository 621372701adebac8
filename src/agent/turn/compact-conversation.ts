import type { Log } from "../../base/log.ts";
import type { Turn } from "../../session/agent.ts";
import type { ModelEntry } from "../models/models.ts";
import { compact } from "./compact.ts";
import type { Conversation } from "./conversation.ts";
import { SUMMARY } from "../../session/turn/replay.ts";
import type { Speaker } from "./speaker.ts";

export interface CompactionOptions {
  readonly turn: Turn;
  readonly model: ModelEntry & { readonly open: NonNullable<ModelEntry["open"]> };
  readonly conversation: Conversation;
  readonly speaker: Speaker;
  readonly log: Log;
  /** The sentence that says why; what was done follows. */
  readonly why: string;
}

/** Replaces the beginning of a conversation by a summary, and tells the client. */
export async function compactConversation(options: CompactionOptions): Promise<void> {
  const { conversation, model, speaker, turn, log, why } = options;
  const compactionId = crypto.randomUUID();
  const before = conversation.size;
  const sessionUpdate = "compaction_update";
  const { client } = turn;
  if (client.compaction)
    await speaker.update({ sessionUpdate, compactionId, status: "in_progress" });
  const { contextWindow: window } = model;
  const { messages, summary, isWritten } = await compact(conversation.messages, {
    model: await model.open(),
    window,
    stop: turn.stop,
  });
  conversation.replace(messages);
  const after = conversation.size;
  log.info("agent.compacted", { before, after, isWritten });
  const how = isWritten ? "a summary" : "a list of what was asked and done";
  const says = `${why}; its beginning was replaced by ${how} (about ${before} → ${after} tokens)`;
  if (client.compaction) {
    const content = [{ type: "text", text: summary }];
    await speaker.update({ sessionUpdate, compactionId, status: "completed", summary: content });
    await speaker.notice("info", says);
  } else await speaker.aside(says, { [SUMMARY]: summary });
}
