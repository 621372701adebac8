import type { SessionUpdate } from "../session/agent.ts";

/** A message about the run itself, not from its agent. Clients show it as a thought, or ignore it. */
export function progressUpdate(message: string): SessionUpdate {
  return {
    sessionUpdate: "agent_thought_chunk",
    content: { type: "text", text: `${message}\n` },
    // ACP has no field for this.
    _meta: { trunkline: { run: "progress" } },
  };
}
