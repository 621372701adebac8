import type { PromptDefinition, ToolDefinition } from "../protocol/bus/plugin.gen.ts";

/** What a plugin offers. */
export interface PluginOffer {
  readonly tools: readonly ToolDefinition[];
  readonly prompts: readonly PromptDefinition[];
  /** What it would offer, too, but for its size. */
  readonly leftOut: readonly string[];
}

/** Tools, and prompts, of one plugin. */
const MOST = 1_000;
/** Characters of one of them, and of all together: every list of every client has them. */
const LONGEST = 128 * 1024;
const LONGEST_ALL = 1024 * 1024;

/** As much of what a plugin offers as others can be made to read. */
export function boundedOffer(
  tools: readonly ToolDefinition[],
  prompts: readonly PromptDefinition[],
): PluginOffer {
  let left = LONGEST_ALL;
  const leftOut: string[] = [];
  const bounded = <T extends { readonly name: string }>(all: readonly T[]): T[] =>
    all.filter((one, index) => {
      const { length } = JSON.stringify(one);
      const isIn = index < MOST && length <= Math.min(LONGEST, left);
      if (isIn) left -= length;
      else leftOut.push(one.name.slice(0, 100));
      return isIn;
    });
  return { tools: bounded(tools), prompts: bounded(prompts), leftOut };
}
