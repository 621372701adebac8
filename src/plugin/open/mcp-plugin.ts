import { TrunklineError } from "../../base/errors.ts";
import { defined } from "../../base/defined.ts";
import type { Log } from "../../base/log.ts";
import { VERSION } from "../../base/version.ts";
import { busContext } from "../bus-context.ts";
import type { CallContext, PluginContext } from "../sdk/context.ts";
import type { Health, PromptMessage } from "../sdk/definition.ts";
import { manifestOf, type PluginParts, type PromptPart, type ToolPart } from "../sdk/parts.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { Announcement } from "../../tool/offer/registry.ts";
import type { Arguments, Prompt, ToolContext } from "../../tool/tool.ts";
import { Upstreams } from "../../upstream/upstreams.ts";

/** An MCP server that is started, as a plugin. */
export interface McpPluginOptions {
  readonly id: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The folder that it is started in. */
  readonly cwd?: string | undefined;
  /** Environment variables in addition to the usual ones. */
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
  const { id, command, args, cwd, log } = options;
  await using opening = new AsyncDisposableStack();
  const offer = new Offer();
  const upstreams = opening.use(new Upstreams({ offer, log }));
  const env = defined<Record<string, string>>(options.env);
  await upstreams.configure({ [SERVER]: { command, args, env, ...(cwd && { cwd }) } });
  await upstreams.started();
  const status = () => upstreams.status().find(({ name }) => name === SERVER);
  const first = status();
  if (first?.state !== "up") {
    const why = first?.lastError ?? `it is ${first?.state}`;
    throw new TrunklineError("unavailable", `Cannot use '${command}' as an MCP server: ${why}`);
  }
  await upstreams.known();
  const parts = followOffer(offer, log);
  opening.defer(parts.stop);
  const open = opening.move();
  return {
    get manifest() {
      return {
        ...manifestOf({ id, version: VERSION, description: `The MCP server '${command}'` }),
        provides_tools: [...parts.tools.keys()],
        provides_prompts: [...parts.prompts.keys()],
      };
    },
    ...{ tools: parts.tools, prompts: parts.prompts },
    onChange: (listener) => parts.changes.on(listener),
    events: new Map(),
    storage: new Map(),
    health: (): Health => {
      const { state = "gone", lastError = "" } = status() ?? {};
      return { status: state === "up" ? "healthy" : "degraded", message: lastError };
    },
    shutdown: () => open.disposeAsync(),
  };
}

/** The tools and prompts of the server as parts of a plugin: those that it has now, until `stop`. */
function followOffer(offer: Offer, log: Log) {
  const tools = new Map<string, ToolPart>();
  const prompts = new Map<string, PromptPart>();
  const changes = new Announcement();
  const read = (): void => {
    tools.clear();
    for (const { definition } of offer.tools.list()) {
      const { name } = definition;
      const call = (given: Arguments, context: CallContext) =>
        offer.tools.call(name, given, contextOf(name, context, log));
      tools.set(name, { definition, call, stream: undefined });
    }
    prompts.clear();
    for (const prompt of offer.prompts.list()) {
      const { definition } = prompt;
      prompts.set(definition.name, { definition, get: promptGetter(prompt, log) });
    }
  };
  read();
  const changed = (): void => {
    read();
    changes.make();
  };
  const ends = [offer.tools.onChange(changed), offer.prompts.onChange(changed)];
  return { tools, prompts, changes, stop: () => ends.forEach((end) => end()) };
}

/** The context of a call from the bus; the server cannot ask whoever is behind it. */
function contextOf(name: string, context: PluginContext, log: Log): ToolContext {
  const { caller = "bus", sessionId, project } = context as Partial<CallContext>;
  const call = { name, session: sessionId, project };
  return busContext(call, { name: caller, signal: context.signal, log });
}

function promptGetter(prompt: Prompt, log: Log): PromptPart["get"] {
  return async (args, context) => {
    const { name } = prompt.definition;
    return (await prompt.get(args, contextOf(name, context, log))).messages.map(messageOf);
  };
}

/** Prompts on the bus have only texts; other content becomes JSON text. */
function messageOf(message: unknown): PromptMessage {
  const { role, content } = message as { role?: unknown; content?: { text?: unknown } };
  const text = typeof content?.text === "string" ? content.text : JSON.stringify(content);
  return { role: role === "assistant" ? "assistant" : "user", text };
}
