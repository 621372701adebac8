import type { SessionUpdate } from "./agent.ts";

/** What separates the id of a session from that of a subagent in it. */
const SEPARATOR = "/";

/** The id under which clients know a subagent of a session. */
export function subagentId(sessionId: string, child: string): string {
  return `${sessionId}${SEPARATOR}${child}`;
}

export function isSubagentId(id: unknown): id is string {
  return typeof id === "string" && id.includes(SEPARATOR);
}

/** The session that an id of a session or of a subagent belongs to, and the agent's id of the subagent. */
export function readSubagentId(id: string): { readonly session: string; readonly child?: string } {
  const at = id.indexOf(SEPARATOR);
  return at < 0 ? { session: id } : { session: id.slice(0, at), child: id.slice(at + 1) };
}

/**
 * The id of the subagent that an update of a session's log belongs to. The log of a session has the
 * updates of its subagents, too, since they have no log of their own.
 */
export function subagentOf({ _meta }: SessionUpdate): string | undefined {
  const { trunkline } = (_meta ?? {}) as { readonly trunkline?: { readonly subagent?: unknown } };
  const { subagent } = trunkline ?? {};
  return typeof subagent === "string" ? subagent : undefined;
}

/** Marks an update that belongs to a subagent, for the log of its session. */
export function markSubagent(update: SessionUpdate, subagent: string): SessionUpdate {
  const meta = (update._meta ?? {}) as { readonly trunkline?: object };
  return { ...update, _meta: { ...meta, trunkline: { ...meta.trunkline, subagent } } };
}
