import {
  hasScope,
  limitRefusal,
  mayControl,
  mayUseAgent,
  mayUseAll,
  mayUseFolder,
  mayUseTool,
  type Principal,
  type Scope,
  SCOPES,
  scopeRefusal,
} from "../../base/principal.ts";
import type { ReadSession } from "../../store/session/session-reader.ts";
import type { ApiRoute } from "./router.ts";

/** The only owner whose sessions a principal may see; undefined where it may see all. */
export function onlyOwner(principal: Principal): string | undefined {
  return mayUseAll(principal) ? undefined : principal.id;
}

/** Whether a principal may see a session: the rule by which ACP lets it use one. */
export function maySeeSession(
  principal: Principal,
  { notes, agent, cwd }: Pick<ReadSession, "notes" | "agent" | "cwd">,
): boolean {
  const owner = onlyOwner(principal);
  if (owner !== undefined && (notes.owner ?? "") !== owner) return false;
  return mayUseAgent(principal, agent) && (notes.run !== undefined || mayUseFolder(principal, cwd));
}

/**
 * What a route needs beside the scope `dashboard`: nothing, if it answers each principal with what that
 * one may see; a scope; or `admin`, for what belongs to others or to all.
 */
export type Need = "nothing" | "sessions" | "review" | "admin";

/** Why a principal may not use a route; undefined where it may. This is asked for each route. */
export function routeRefusal(
  principal: Principal,
  { method, path, needs, tool }: Pick<ApiRoute, "method" | "path" | "needs" | "tool">,
): string | undefined {
  const lacking = needs === "nothing" ? undefined : scopeRefusal(principal, needs, path);
  if (lacking !== undefined) return lacking;
  if (needs === "admin" && !mayUseAll(principal)) {
    return `${path} is about what belongs to all, and this token is limited to a part of it.`;
  }
  if (method === "POST" && !mayControl(principal)) {
    return `${path} changes something, and this token only observes. Use one that was created without --observe.`;
  }
  if (tool === undefined || mayUseTool(principal, tool)) return undefined;
  return limitRefusal(principal, path, `--tool ${tool}`);
}

/** What a principal may do. */
export function scopesOf(principal: Principal): readonly Scope[] {
  return SCOPES.filter((scope) => hasScope(principal, scope));
}
