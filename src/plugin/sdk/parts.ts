import { TrunklineError } from "../../base/errors.ts";
import type { Arguments, JsonSchema, PromptDefinition, ToolDefinition } from "../../tool/tool.ts";
import type { CallContext, PluginContext } from "./context.ts";
import type {
  Chunk,
  EventSpec,
  Manifest,
  PluginDefinition,
  PromptArgumentSpec,
  PromptMessage,
  StorageProvider,
} from "./definition.ts";

export interface ToolPart {
  readonly definition: ToolDefinition;
  readonly call: ((args: Arguments, context: CallContext) => unknown) | undefined;
  readonly stream:
    | ((args: Arguments, context: CallContext) => AsyncIterable<Chunk> | Iterable<Chunk>)
    | undefined;
}

export interface PromptPart {
  readonly definition: PromptDefinition;
  readonly get: (
    args: Readonly<Record<string, string>>,
    context: PluginContext,
  ) => MaybePromise<string | readonly PromptMessage[]>;
}

type MaybePromise<T> = T | Promise<T>;

/** A definition that was checked, by its parts. */
export interface PluginParts extends Pick<PluginDefinition, "boot" | "shutdown" | "health"> {
  readonly manifest: Manifest;
  readonly tools: ReadonlyMap<string, ToolPart>;
  readonly prompts: ReadonlyMap<string, PromptPart>;
  readonly events: ReadonlyMap<string, EventSpec>;
  readonly storage: ReadonlyMap<string, StorageProvider>;
  /** Calls back when its tools or prompts, and hence its manifest, have changed. Most never do. */
  readonly onChange?: (listener: () => void) => void;
}

/** Certificates carry it, with a suffix of ours. */
const ID = /^(?!ca$)[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

interface LooseTool extends Pick<ToolPart, "call" | "stream"> {
  readonly description?: unknown;
  readonly input?: JsonSchema;
  readonly idempotent?: boolean;
}

interface LoosePrompt extends Pick<PromptPart, "get"> {
  readonly description?: string;
  readonly arguments?: Readonly<Record<string, PromptArgumentSpec>>;
}

/** Throws what is wrong with a definition. */
export function partsOf(definition: PluginDefinition): PluginParts {
  const { id, version } = definition;
  if (typeof id !== "string" || !ID.test(id)) {
    const form = "letters, digits, '.', '_' and '-', such as 'tools.greet'";
    throw new TrunklineError("usage", `Cannot define plugin '${id}': an id is ${form}`);
  }
  if (typeof version !== "string" || version === "") throw wrong(id, "it has no version");
  const tools = entries<LooseTool>(definition.tools).map(
    ([name, tool]) => [name, toolOf(id, name, tool)] as const,
  );
  const prompts = entries<LoosePrompt>(definition.prompts).map(
    ([name, prompt]) => [name, promptOf(id, name, prompt)] as const,
  );
  const events = entries<EventSpec["handle"] | EventSpec>(definition.events).map(
    ([topic, event]) => [topic, eventOf(id, topic, event)] as const,
  );
  return {
    manifest: manifestOf(definition),
    tools: new Map(tools),
    prompts: new Map(prompts),
    events: new Map(events),
    storage: new Map(entries<StorageProvider>(definition.storage)),
    // Called on the definition, which may keep state of its own.
    boot: (config, context) => definition.boot?.(config, context),
    shutdown: () => definition.shutdown?.(),
    health: () => definition.health?.() ?? "healthy",
  };
}

function entries<T>(of: object | undefined): [string, T][] {
  return Object.entries(of ?? {}) as [string, T][];
}

function toolOf(id: string, name: string, tool: LooseTool): ToolPart {
  const { description, input, idempotent } = tool;
  if (!NAME.test(name)) throw wrong(id, `'${name}' is not a valid name for a tool`);
  if (typeof description !== "string") throw wrong(id, `tool '${name}' has no description`);
  if (typeof tool.call !== "function" && typeof tool.stream !== "function") {
    throw wrong(id, `tool '${name}' has neither 'call' nor 'stream'`);
  }
  if (input?.type !== undefined && input.type !== "object") {
    throw wrong(id, `the input of tool '${name}' must be of type 'object'`);
  }
  const inputSchema = { type: "object", ...input };
  const hints = idempotent === true ? { annotations: { idempotentHint: true } } : {};
  return {
    definition: { name, description, inputSchema, ...hints },
    call: tool.call === undefined ? undefined : (args, context) => tool.call?.(args, context),
    stream:
      tool.stream === undefined ? undefined : (args, context) => tool.stream?.(args, context) ?? [],
  };
}

function promptOf(id: string, name: string, prompt: LoosePrompt): PromptPart {
  if (!NAME.test(name)) throw wrong(id, `'${name}' is not a valid name for a prompt`);
  if (typeof prompt.get !== "function") throw wrong(id, `prompt '${name}' has no 'get'`);
  const args = entries<PromptArgumentSpec>(prompt.arguments).map(([argument, spec]) => ({
    name: argument,
    ...spec,
  }));
  const { description } = prompt;
  return {
    definition: { name, ...(description === undefined ? {} : { description }), arguments: args },
    get: (values, context) => prompt.get(values, context),
  };
}

function eventOf(id: string, topic: string, event: EventSpec["handle"] | EventSpec): EventSpec {
  const spec = typeof event === "function" ? { handle: event } : event;
  if (typeof spec.handle !== "function") throw wrong(id, `event '${topic}' has no handler`);
  return spec;
}

export function manifestOf(definition: PluginDefinition): Manifest {
  const { id, version, description = "", author = "", provides, needs } = definition;
  return {
    id,
    version,
    language: "typescript",
    description,
    author,
    provides_tools: Object.keys(definition.tools ?? {}),
    provides_prompts: Object.keys(definition.prompts ?? {}),
    provides_events: [...(provides?.events ?? [])],
    provides_storage: Object.keys(definition.storage ?? {}),
    provides_ai: [...(provides?.ai ?? [])],
    needs_tools: [...(needs?.tools ?? [])],
    needs_events: Object.keys(definition.events ?? {}),
    needs_storage: [...(needs?.storage ?? [])],
    needs_ai: [...(needs?.ai ?? [])],
    ...(definition.permissions === undefined ? {} : { permissions: definition.permissions }),
  };
}

function wrong(id: string, what: string): TrunklineError {
  return new TrunklineError("usage", `Cannot define plugin '${id}': ${what}`);
}
