import {
  limitRefusal,
  hasScope,
  type Principal,
  type Scope,
  scopeRefusal,
} from "../base/principal.ts";
import { mayUseTool } from "../base/principal-limits.ts";
import type { Tool } from "./tool.ts";

/** Why a principal may not call a tool, and what to do about it; undefined where it may. */
export function toolRefusal(
  principal: Principal,
  { definition: { name }, scope = "tools" }: Pick<Tool, "definition" | "scope">,
): string | undefined {
  // The owner, who calls most.
  if (principal.scopes === undefined && principal.limits === undefined) return undefined;
  const refusal = scopeRefusal(principal, scope, `The tool '${name}'`);
  if (refusal !== undefined) return refusal;
  if (mayUseTool(principal, name)) return undefined;
  return limitRefusal(principal, `the tool '${name}'`, `--tool ${name}`);
}

/**
 * Whether a principal may have what is offered beside tools: resources, prompts and notices. One
 * that is limited to certain tools may not, since nothing says which of these belong to them.
 */
export function mayHave(principal: Principal, scope: Scope = "tools"): boolean {
  return hasScope(principal, scope) && principal.limits?.tools === undefined;
}
