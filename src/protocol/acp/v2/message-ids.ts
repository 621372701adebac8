import type { JsonObject } from "../methods.ts";

type Update = JsonObject & { readonly sessionUpdate: string };

const CHUNKS: ReadonlySet<string> = new Set([
  "user_message_chunk",
  "agent_message_chunk",
  "agent_thought_chunk",
]);
/** Updates that end a message. Any other update may come in the middle of one. */
const BETWEEN: ReadonlySet<string> = new Set(["tool_call", "plan"]);

/**
 * ACP version 2: every message has an id. Version 1 has none, so messages are counted from the id of
 * the prompt before them. A message then has the same id when the session is replayed.
 */
export class MessageIds {
  #from = "";
  #count = 0;
  #kind: string | undefined;

  put(update: Update, seq: number): Update {
    const { sessionUpdate: kind, messageId } = update;
    if (BETWEEN.has(kind)) this.#kind = undefined;
    if (!CHUNKS.has(kind)) return update;
    if (typeof messageId === "string") {
      if (kind === "user_message_chunk") this.#begin(messageId);
      this.#kind = kind;
      return update;
    }
    // A client that attached during a turn has not seen its prompt.
    if (this.#from === "") this.#begin(`event-${seq}`);
    if (this.#kind !== kind) this.#count++;
    this.#kind = kind;
    return { ...update, messageId: `${this.#from}.${this.#count}` };
  }

  #begin(messageId: string): void {
    if (this.#from === messageId) return;
    this.#from = messageId;
    this.#count = 0;
  }
}
