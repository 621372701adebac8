import type { SessionUpdate } from "../session/agent.ts";

/** What is told of a run beside its agent's words. Clients show it as a thought, or leave it. */
export function progressUpdate(message: string): SessionUpdate {
  return {
    sessionUpdate: "agent_thought_chunk",
    content: { type: "text", text: `${message}\n` },
    // No member of the protocol is for this.
    _meta: { trunkline: { run: "progress" } },
  };
}
