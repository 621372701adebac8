import type { AppContext } from "../../config/app-context.ts";
import type { Config } from "../../config/config.ts";
import type { Audit } from "../../tool/audit.ts";
import type { ToolHooks } from "./tool-hooks.ts";

/** The hooks for calls of tools. Most people have none, so their code is loaded here. */
export async function openToolHooks(
  app: AppContext,
  { toolHooks }: Pick<Config, "toolHooks">,
  audit: Audit | undefined,
): Promise<ToolHooks | undefined> {
  if (Object.keys(toolHooks).length === 0) return undefined;
  const { toolHooksFor } = await import("./tool-hooks.ts");
  return toolHooksFor(app, toolHooks, audit);
}
