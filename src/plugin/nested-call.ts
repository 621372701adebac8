import type { ToolContext } from "../tool/tool.ts";

const nested = new WeakSet<object>();

/** Has a call count as one that a plugin makes, however often its context is wrapped on its way. */
export function markNested(meta: ToolContext["meta"]): void {
  nested.add(meta);
}

/** Whether a plugin makes the call, maybe in the middle of one that it answers itself. */
export function isNested({ meta }: Pick<ToolContext, "meta">): boolean {
  return nested.has(meta);
}
