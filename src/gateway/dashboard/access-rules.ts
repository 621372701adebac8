import {
  hasScope,
  mayUseAgent,
  mayUseAll,
  mayUseFolder,
  type Principal,
  type Scope,
  SCOPES,
  scopeRefusal,
} from "../../base/principal.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { ReadSession } from "../../store/session/session-reader.ts";

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

/** Throws "untrusted" where a principal lacks a scope. */
export function needScope(principal: Principal, scope: Scope, what: string): void {
  const refusal = scopeRefusal(principal, scope, what);
  if (refusal !== undefined) throw new TrunklineError("untrusted", refusal);
}

/** Throws "untrusted" where a principal may not see what belongs to all. */
export function needAll(principal: Principal, what: string): void {
  if (mayUseAll(principal)) return;
  throw new TrunklineError("untrusted", `${what} needs the scope 'admin'.`);
}

/** What a principal may do. */
export function scopesOf(principal: Principal): readonly Scope[] {
  return SCOPES.filter((scope) => hasScope(principal, scope));
}
