import { defined } from "../base/defined.ts";
import type { McpClient } from "../protocol/mcp/connect/connect.ts";
import { tracedHop } from "../tool/traced-hop.ts";
import type { Completion, CompletionArgument, Prompt, PromptResult } from "../tool/tool.ts";
import { metaMember } from "../protocol/mcp/meta.ts";
import type { ResourceAddresses } from "./resource-addresses.ts";
import type { Upstream } from "./upstream.ts";

type Entry = Readonly<Record<string, unknown>>;

/** A prompt of an upstream, under the name that it has here. */
export function upstreamPrompt(
  upstream: Upstream,
  entry: Entry,
  name: string,
  addresses: ResourceAddresses,
): Prompt {
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
      const work = async (client: McpClient): Promise<PromptResult> => {
        const result = await client.getPrompt(original, args, context);
        return addresses.promptResult(upstream.name, result as unknown as PromptResult);
      };
      return tracedHop(context, attributes, () => upstream.useFor(context, work));
    },
    complete: (argument) => completion(upstream, { type: "ref/prompt", name: original }, argument),
  };
}

/** The completions that an upstream suggests for an argument. */
export async function completion(
  upstream: Upstream,
  ref: Entry,
  { name, value, context, _meta }: CompletionArgument,
): Promise<Completion | undefined> {
  const params = {
    ref,
    argument: { name, value },
    ...defined({ context: context && { arguments: context }, _meta }),
  };
  const result = await upstream.use((client) => client.complete(params), true);
  const { completion: found } = result as { completion?: Partial<Completion> };
  return Array.isArray(found?.values)
    ? ({ ...found, ...metaMember(result) } as Completion)
    : undefined;
}
