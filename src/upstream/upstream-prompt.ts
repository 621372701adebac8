import type { McpClient } from "../protocol/mcp/connect/connect.ts";
import { tracedHop } from "../tool/traced-hop.ts";
import type { Completion, CompletionArgument, Prompt, PromptResult } from "../tool/tool.ts";
import type { Upstream } from "./upstream.ts";

type Entry = Readonly<Record<string, unknown>>;

/** A prompt of an upstream, under the name that it has here. */
export function upstreamPrompt(upstream: Upstream, entry: Entry, name: string): Prompt {
  const original = String(entry.name);
  return {
    definition: { ...entry, name },
    source: { server: upstream.name, name: original },
    get: (args, context) => {
      const attributes = {
        "mcp.method.name": "prompts/get",
        "gen_ai.prompt.name": original,
        "trunkline.server": upstream.name,
      };
      const work = (client: McpClient): Promise<PromptResult> =>
        client.getPrompt(original, args, context) as unknown as Promise<PromptResult>;
      return tracedHop(context, attributes, () => upstream.for(context).use(work, true));
    },
    complete: (argument) => completion(upstream, { type: "ref/prompt", name: original }, argument),
  };
}

/** The completions that an upstream suggests for an argument. */
export async function completion(
  upstream: Upstream,
  ref: Entry,
  { name, value, context }: CompletionArgument,
): Promise<Completion | undefined> {
  const params = {
    ref,
    argument: { name, value },
    ...(context === undefined ? {} : { context: { arguments: context } }),
  };
  const result = await upstream.use((client) => client.complete(params), true);
  const { completion: found } = result as { completion?: Partial<Completion> };
  return Array.isArray(found?.values) ? (found as Completion) : undefined;
}
