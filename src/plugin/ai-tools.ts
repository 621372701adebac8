import type { Arguments, Tool, ToolContext, ToolResult } from "../tool/tool.ts";
import { PROVIDER } from "./bus-context.ts";

/** Orchestra's routing: providers whose API is that of another provider. */
const ALIASES: Readonly<Record<string, string>> = {
  grok: "openai",
  perplexity: "openai",
  deepseek: "openai",
  qwen: "openai",
  kimi: "openai",
};
/** Orchestra's routing: the provider of a call that names none. */
const FALLBACK = "claude";

/** A tool of one provider of AI. */
export interface AiTool {
  readonly providers: readonly string[];
  readonly tool: Tool;
}

/** One tool for all tools of that name of several AI providers: each call names the provider. */
export function aiTool(name: string, all: readonly AiTool[]): Tool {
  const byProvider = new Map<string, Tool>();
  for (const { providers, tool } of all) {
    for (const provider of providers) byProvider.set(provider, tool);
  }
  const first = all[0]?.tool;
  if (first === undefined) throw new Error(`Nobody offers '${name}'`);
  return {
    definition: { ...first.definition, name },
    ...(first.project === undefined ? {} : { project: first.project }),
    call(args: Arguments, context: ToolContext): ToolResult | Promise<ToolResult> {
      const wanted = context.meta[PROVIDER] ?? args.provider;
      const named = typeof wanted === "string" ? wanted : "";
      const tool =
        byProvider.get(named) ??
        byProvider.get(ALIASES[named] ?? "") ??
        byProvider.get(FALLBACK) ??
        first;
      return tool.call(args, context);
    },
  };
}
