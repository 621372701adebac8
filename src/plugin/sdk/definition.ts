import type {
  CallContext,
  ContentPiece,
  PluginContext,
  StoredEntry,
  WriteOptions,
} from "./context.ts";
import type { FromSchema, Schema } from "./from-schema.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A complete result, in the form of MCP. */
export interface FullResult {
  readonly content: readonly ContentPiece[];
  readonly structuredContent?: unknown;
  /** The call failed; the content says why. */
  readonly isError?: boolean;
}

/**
 * What a tool may return: text; an object, which becomes structured content (its member `text`, if
 * any, becomes the text); a complete result; or nothing.
 */
export type Returned = string | FullResult | object | undefined | void;

export type Chunk = string | Uint8Array;

/** The type of a tool's arguments. Without a schema, any object. */
export type ArgumentsOf<S> = unknown extends S ? Record<string, unknown> : FromSchema<S>;

type Call<S> = (args: ArgumentsOf<S>, context: CallContext) => Returned | Promise<Returned>;
type Stream<S> = (
  args: ArgumentsOf<S>,
  context: CallContext,
) => AsyncIterable<Chunk> | Iterable<Chunk>;

interface ToolDescription<S> {
  readonly description: string;
  /** JSON Schema of the arguments. Arguments are checked before the tool is called. */
  readonly input?: S & Schema;
  /** The tool may be called again after a failure: a second call has no further effect. */
  readonly idempotent?: boolean;
}

/** A tool with a single result. With `stream` it can also send chunks. */
export interface CalledTool<S> extends ToolDescription<S> {
  readonly call: Call<S>;
  readonly stream?: Stream<S>;
}

/** A tool that sends chunks. A caller that does not stream gets them joined. */
export interface StreamedTool<S> extends ToolDescription<S> {
  readonly stream: Stream<S>;
  readonly call?: undefined;
}

export type ToolSpec<S> = CalledTool<S> | StreamedTool<S>;

export interface PromptArgumentSpec {
  readonly description?: string;
  readonly required?: boolean;
}

/** The arguments of a prompt. Those that are not required may be missing. */
export type PromptValues<A> = {
  [Name in keyof A as A[Name] extends { readonly required: true } ? Name : never]: string;
} & {
  [Name in keyof A as A[Name] extends { readonly required: true } ? never : Name]?: string;
};

export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
}

export interface PromptSpec<A> {
  readonly description?: string;
  readonly arguments?: A & Readonly<Record<string, PromptArgumentSpec>>;
  /** A string becomes one message of the user. */
  readonly get: (
    args: PromptValues<A>,
    context: PluginContext,
  ) => string | readonly PromptMessage[] | Promise<string | readonly PromptMessage[]>;
}

export interface PluginEvent {
  readonly topic: string;
  readonly type: string;
  readonly payload: Fields;
  /** The plugin that published it. */
  readonly source: string;
}

export type EventHandler = (event: PluginEvent, context: PluginContext) => unknown;

export interface EventSpec {
  /** Members of the payload and the text that each must have. Other events are skipped. */
  readonly filters?: Readonly<Record<string, string>>;
  readonly handle: EventHandler;
}

/** A storage that the plugin offers to others. An error that it throws is sent to the caller. */
export interface StorageProvider {
  read(path: string): MaybePromise<StorageReadResult | undefined>;
  /** Returns the new version. `options.version` is the one that must be there: 0 none, undefined any. */
  write(path: string, content: Uint8Array, options: WriteOptions): MaybePromise<number>;
  /** Returns whether the document existed. */
  delete(path: string): MaybePromise<boolean>;
  list(prefix: string, pattern: string): MaybePromise<readonly StoredEntry[]>;
}

export interface StorageReadResult {
  readonly content: string | Uint8Array;
  readonly metadata?: Fields;
  /** Starts at 1. */
  readonly version: number;
}

type MaybePromise<T> = T | Promise<T>;

export type HealthStatus = "healthy" | "degraded" | "unhealthy";

export interface Health {
  readonly status: HealthStatus;
  readonly message?: string;
  readonly details?: Readonly<Record<string, string>>;
}

/** Rights that a plugin asks for. Paths are absolute. */
export interface PermissionRequest {
  readonly read?: readonly string[];
  readonly write?: readonly string[];
  /** Programs that the plugin starts may use all files of the user. */
  readonly run?: boolean;
  /** The plugin whose documents it uses instead of its own; `/` for the shared ones. */
  readonly namespace?: string;
  /** Hosts it may reach: `api.example.org`, `*.example.org`, `db.example.org:5432`, `localhost:5432`. */
  readonly hosts?: readonly string[];
}

/** What `definePlugin` takes. */
export interface PluginDefinition<Tools = unknown, Prompts = unknown> {
  /** The plugin's name on the bus, such as `tools.greet`: letters, digits, `.`, `_` and `-`. */
  readonly id: string;
  readonly version: string;
  readonly description?: string;
  readonly author?: string;
  readonly tools?: { readonly [Name in keyof Tools]: ToolSpec<Tools[Name]> };
  readonly prompts?: { readonly [Name in keyof Prompts]: PromptSpec<Prompts[Name]> };
  /** Handlers of events, by topic. */
  readonly events?: Readonly<Record<string, EventHandler | EventSpec>>;
  /** Storages that it offers, by type. */
  readonly storage?: Readonly<Record<string, StorageProvider>>;
  /** What it offers besides tools, prompts and storages. */
  readonly provides?: {
    /** Topics that it publishes. */
    readonly events?: readonly string[];
    /** AI providers that its tools use. */
    readonly ai?: readonly string[];
  };
  /** What it needs from others. Trunkline's own tools can be called only if they are named here. */
  readonly needs?: {
    readonly tools?: readonly string[];
    readonly storage?: readonly string[];
    readonly ai?: readonly string[];
  };
  /**
   * Rights that it needs on the machine. A person approves them when the plugin is added; everything
   * else is denied.
   */
  readonly permissions?: PermissionRequest;
  /** Called before the first tool call, with the plugin's `config` from the orchestrator. */
  boot?(config: Readonly<Record<string, string>>, context: PluginContext): unknown;
  /** Called before the plugin ends. */
  shutdown?(): unknown;
  /** Reports the plugin's health. Without it, the plugin counts as healthy. */
  health?(): MaybePromise<HealthStatus | Health>;
}

/** A plugin's description of itself, with the field names of the bus. */
export interface Manifest {
  readonly id: string;
  readonly version: string;
  readonly language: string;
  readonly description: string;
  readonly author: string;
  readonly provides_tools: readonly string[];
  readonly provides_prompts: readonly string[];
  readonly provides_events: readonly string[];
  readonly provides_storage: readonly string[];
  readonly provides_ai: readonly string[];
  readonly provides_transport?: readonly string[];
  readonly needs_tools: readonly string[];
  readonly needs_events: readonly string[];
  readonly needs_storage: readonly string[];
  readonly needs_ai: readonly string[];
  /** Only in the printed manifest: the message of the bus has no field for it. */
  readonly permissions?: PermissionRequest;
}

/** A plugin, ready to be run or tested. */
export interface Plugin {
  readonly id: string;
  readonly manifest: Manifest;
}
