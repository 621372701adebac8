import { glob } from "../text/glob.ts";
import type { Principal, PrincipalLimits } from "../principal.ts";
import { isInside, realPath } from "../file/real-path.ts";

type Named = "agents" | "tools" | "repositories";
type Compiled = Partial<Record<Named, readonly ((text: string) => boolean)[]>>;

/** Patterns are compiled once for each token, not for each call. */
const compiled = new WeakMap<PrincipalLimits, Compiled>();

export function mayUseTool({ limits }: Principal, tool: string): boolean {
  return limits?.tools === undefined || fits(limits, "tools", tool);
}

export function mayUseAgent({ limits }: Principal, agent: string): boolean {
  return limits?.agents === undefined || fits(limits, "agents", agent);
}

/** Whether one of a repository's addresses is among those that a principal may use. */
export function mayUseRepository({ limits }: Principal, addresses: readonly string[]): boolean {
  if (limits?.repositories === undefined) return true;
  return addresses.some((address) => fits(limits, "repositories", address));
}

/** By where a path really leads: a link inside a folder may lead out of it. */
export function mayUseFolder({ limits }: Principal, path: string): boolean {
  if (limits?.folders === undefined) return true;
  const real = realPath(path);
  return limits.folders.some((folder) => isInside(real, realPath(folder)));
}

function fits(limits: PrincipalLimits, kind: Named, text: string): boolean {
  let known = compiled.get(limits);
  if (known === undefined) compiled.set(limits, (known = {}));
  const patterns = (known[kind] ??= (limits[kind] ?? []).map(glob));
  return patterns.some((isLike) => isLike(text));
}
