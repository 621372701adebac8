import type { JsonObject } from "../methods.ts";

type Update = JsonObject & { readonly sessionUpdate: string };

const CHUNKS: ReadonlySet<string> = new Set([
  "user_message_chunk",
  "agent_message_chunk",
  "agent_thought_chunk",
]);
/** What stands between two messages. Anything else may come in the midst of one. */
const BETWEEN: ReadonlySet<string> = new Set(["tool_call", "plan"]);

/**
 * Gives every message an id. Inside only prompts have one; what follows is counted from there, so
 * that a message has the same id when it is shown again.
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
    // Whoever came in the midst of a turn does not know how it began.
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
