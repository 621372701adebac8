import {
  limitRefusal,
  hasScope,
  mayControl,
  type Principal,
  type Scope,
  scopeRefusal,
  mayUseTool,
} from "../base/principal.ts";
import { type Arguments, isAbout, type Tool } from "./tool.ts";

/**
 * Why a principal may not call a tool, and what to do about it; undefined where it may. Without
 * arguments: whether it may call it with some.
 */
export function toolRefusal(
  principal: Principal,
  tool: Pick<Tool, "definition" | "scope" | "source" | "bringer" | "project">,
  args?: Arguments,
): string | undefined {
  const { definition, scope = "tools" } = tool;
  const { name } = definition;
  // The common case first: the owner has no limits.
  if (principal.scopes === undefined && principal.limits === undefined) return undefined;
  const refusal = scopeRefusal(principal, scope, `The tool '${name}'`);
  if (refusal !== undefined) return refusal;
  const option = `--tool ${name}`;
  if (!mayUseTool(principal, name)) return limitRefusal(principal, `the tool '${name}'`, option);
  // Another server may call a tool read-only that is not.
  const onlyReads = isOurs(tool) && definition.annotations?.readOnlyHint === true;
  if (!mayControl(principal) && !onlyReads) {
    const what = `the tool '${name}', since it may only watch and the tool may change something`;
    return limitRefusal(principal, what, "(without --observe)");
  }
  const { limits } = principal;
  // A token that names such a tool allows it to work anywhere.
  if (limits?.tools !== undefined || !isPlaced(principal)) return undefined;
  const isOfPlace = args === undefined ? tool.project !== undefined : isAbout(tool, args);
  if (isOurs(tool) && isOfPlace) return undefined;
  const what = isOurs(tool)
    ? "for what belongs to no folder"
    : "of another program, which may work in any folder";
  return limitRefusal(principal, `the tool '${name}' ${what}`, option);
}

/**
 * Whether a principal may have what is offered beside tools: resources, prompts and notices. One
 * that is limited to certain tools or places may not, since nothing says which of these belong to
 * them.
 */
export function mayHave(principal: Principal, scope: Scope = "tools"): boolean {
  return (
    hasScope(principal, scope) && principal.limits?.tools === undefined && !isPlaced(principal)
  );
}

/** Whether it is limited to folders or repositories. */
function isPlaced({ limits }: Principal): boolean {
  return limits?.folders !== undefined || limits?.repositories !== undefined;
}

/** Only our own tools say which project they work on. */
function isOurs({ source, bringer }: Pick<Tool, "source" | "bringer">): boolean {
  return source === undefined && bringer === undefined;
}
