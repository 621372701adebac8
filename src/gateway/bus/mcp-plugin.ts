import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { VERSION } from "../../base/version.ts";
import { BusContext } from "../../plugin/bus-context.ts";
import type { CallContext, PluginContext } from "../../plugin/sdk/context.ts";
import type { Health, PromptMessage } from "../../plugin/sdk/definition.ts";
import {
  manifestOf,
  type PluginParts,
  type PromptPart,
  type ToolPart,
} from "../../plugin/sdk/parts.ts";
import { Stopper } from "../../base/stop.ts";
import { Offer } from "../../tool/offer/offer.ts";
import type { Prompt } from "../../tool/prompt.ts";
import type { Arguments } from "../../tool/tool.ts";
import { Upstreams } from "../../upstream/upstreams.ts";

/** An MCP server that is started, as a plugin. */
export interface McpPluginOptions {
  readonly id: string;
  readonly command: string;
  readonly args: readonly string[];
  /** What the server's environment has besides the usual variables. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

/** The name of the server among upstreams, of which it is the only one. */
const SERVER = "server";

/**
 * Starts an MCP server and makes a plugin of it: its tools and prompts under their own names. The
 * server is started again when it dies; it ends with the plugin. Throws why it cannot be used.
 */
export async function mcpPlugin(options: McpPluginOptions): Promise<PluginParts> {
  const { id, command, args, log } = options;
  await using opening = new AsyncDisposableStack();
  const offer = new Offer();
  const upstreams = opening.use(new Upstreams({ offer, log }));
  const env = Object.fromEntries(
    Object.entries(options.env).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
  await upstreams.configure({ [SERVER]: { command, args, env } });
  await upstreams.started();
  const status = () => upstreams.status().find(({ name }) => name === SERVER);
  const first = status();
  if (first?.state !== "up") {
    const why = first?.lastError ?? `it is ${first?.state}`;
    throw new TrunklineError("unavailable", `Cannot use '${command}' as an MCP server: ${why}`);
  }
  await upstreams.known();
  const tools = offer.tools.list().map(({ definition }) => definition);
  const prompts = offer.prompts.list();
  const open = opening.move();
  const call = (name: string) => (given: Arguments, context: CallContext) =>
    offer.tools.call(name, given, contextOf(name, context, log));
  return {
    manifest: {
      ...manifestOf({ id, version: VERSION, description: `The MCP server '${command}'` }),
      provides_tools: tools.map(({ name }) => name),
      provides_prompts: prompts.map(({ definition }) => definition.name),
    },
    tools: new Map(
      tools.map((definition): [string, ToolPart] => [
        definition.name,
        { definition, call: call(definition.name), stream: undefined },
      ]),
    ),
    prompts: new Map(
      prompts.map((prompt) => [
        prompt.definition.name,
        { definition: prompt.definition, get: promptGetter(prompt, log) },
      ]),
    ),
    events: new Map(),
    storage: new Map(),
    health: (): Health => {
      const { state = "gone", lastError = "" } = status() ?? {};
      return { status: state === "up" ? "healthy" : "degraded", message: lastError };
    },
    shutdown: () => open.disposeAsync(),
  };
}

/** The context of a call from the bus; the server cannot ask whoever is behind it. */
function contextOf(name: string, context: PluginContext, log: Log): BusContext {
  const { caller = "bus", sessionId, project } = context as Partial<CallContext>;
  const stopper = new Stopper();
  const { signal } = context;
  const stop = (): void => stopper.stop(signal.reason as Error);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  const call = {
    name,
    ...(sessionId === undefined ? {} : { session: sessionId }),
    ...(project === undefined ? {} : { project }),
  };
  return new BusContext(call, { name: caller, stop: stopper, log });
}

function promptGetter(prompt: Prompt, log: Log): PromptPart["get"] {
  return async (args, context) => {
    const { name } = prompt.definition;
    const { messages } = await prompt.get(args, contextOf(name, context, log));
    return messages.map(messageOf);
  };
}

/** The bus has only texts in prompts; anything else is shown as the JSON that it is. */
function messageOf(message: unknown): PromptMessage {
  const { role, content } = message as { role?: unknown; content?: { text?: unknown } };
  const text = typeof content?.text === "string" ? content.text : JSON.stringify(content);
  return { role: role === "assistant" ? "assistant" : "user", text };
}
