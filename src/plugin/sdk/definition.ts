import type {
  CallContext,
  ContentPiece,
  PluginContext,
  StoredEntry,
  WriteOptions,
} from "./context.ts";
import type { FromSchema, Schema } from "./from-schema.ts";

type Fields = Readonly<Record<string, unknown>>;

/** An answer in full, as MCP has it. */
export interface FullResult {
  readonly content: readonly ContentPiece[];
  readonly structuredContent?: unknown;
  /** The tool could not do it; the content says why. */
  readonly isError?: boolean;
}

/**
 * What a tool may return: a text; an object, whose `text` is what a person reads of it, if it has
 * one; a full result; or nothing.
 */
export type Returned = string | FullResult | object | undefined | void;

export type Chunk = string | Uint8Array;

/** Arguments without a schema may be anything. */
export type ArgumentsOf<S> = unknown extends S ? Record<string, unknown> : FromSchema<S>;

type Call<S> = (args: ArgumentsOf<S>, context: CallContext) => Returned | Promise<Returned>;
type Stream<S> = (
  args: ArgumentsOf<S>,
  context: CallContext,
) => AsyncIterable<Chunk> | Iterable<Chunk>;

interface Described<S> {
  readonly description: string;
  /** JSON Schema of its arguments. They are checked before the tool sees them. */
  readonly input?: S & Schema;
  /** Calling it twice does no more than calling it once: it may be called again after a failure. */
  readonly idempotent?: boolean;
}

/** A tool that answers at once, and in pieces too if it has `stream`. */
export interface CalledTool<S> extends Described<S> {
  readonly call: Call<S>;
  readonly stream?: Stream<S>;
}

/** A tool that answers in pieces. Whoever wants the answer whole gets the pieces put together. */
export interface StreamedTool<S> extends Described<S> {
  readonly stream: Stream<S>;
  readonly call?: undefined;
}

export type ToolSpec<S> = CalledTool<S> | StreamedTool<S>;

export interface PromptArgumentSpec {
  readonly description?: string;
  readonly required?: boolean;
}

/** The values of a prompt's arguments: texts, of which those not required may be missing. */
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
  /** A text is one message of the user. */
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
  /** What members of the payload must be, as text. */
  readonly filters?: Readonly<Record<string, string>>;
  readonly handle: EventHandler;
}

/** A storage that the plugin offers to others. What it throws is told to whoever asked. */
export interface StorageProvider {
  read(path: string): Maybe<StorageReadResult | undefined>;
  /** Returns the new version. `version` is the one that must be there: 0 none, undefined any. */
  write(path: string, content: Uint8Array, options: WriteOptions): Maybe<number>;
  /** Whether there was one. */
  delete(path: string): Maybe<boolean>;
  list(prefix: string, pattern: string): Maybe<readonly StoredEntry[]>;
}

export interface StorageReadResult {
  readonly content: string | Uint8Array;
  readonly metadata?: Fields;
  /** From 1. */
  readonly version: number;
}

type Maybe<T> = T | Promise<T>;

export type HealthStatus = "healthy" | "degraded" | "unhealthy";

export interface Health {
  readonly status: HealthStatus;
  readonly message?: string;
  readonly details?: Readonly<Record<string, string>>;
}

/** What a plugin wants of the machine and of the bus: absolute paths, hosts, documents of others. */
export interface PermissionRequest {
  readonly read?: readonly string[];
  readonly write?: readonly string[];
  /** Whether programs that it starts have all files of the user. */
  readonly run?: boolean;
  /** The plugin whose documents it uses instead of its own; `/` for those that plugins share. */
  readonly namespace?: string;
  /** Such as `api.example.org`, `*.example.org`, `db.example.org:5432` or `localhost:5432`. */
  readonly hosts?: readonly string[];
}

/** All that makes a plugin. */
export interface PluginDefinition<Tools = unknown, Prompts = unknown> {
  /** Its name on the bus: letters, digits, `.`, `_` and `-`, such as `tools.greet`. */
  readonly id: string;
  readonly version: string;
  readonly description?: string;
  readonly author?: string;
  readonly tools?: { readonly [Name in keyof Tools]: ToolSpec<Tools[Name]> };
  readonly prompts?: { readonly [Name in keyof Prompts]: PromptSpec<Prompts[Name]> };
  /** By topic. */
  readonly events?: Readonly<Record<string, EventHandler | EventSpec>>;
  /** By the kind of storage. */
  readonly storage?: Readonly<Record<string, StorageProvider>>;
  /** What else it offers. */
  readonly provides?: {
    /** Topics that it publishes. */
    readonly events?: readonly string[];
    /** Providers of AI that its tools speak for. */
    readonly ai?: readonly string[];
  };
  /** What it wants of others. Tools of the program can only be called if they are named here. */
  readonly needs?: {
    readonly tools?: readonly string[];
    readonly storage?: readonly string[];
    readonly ai?: readonly string[];
  };
  /**
   * What it wants of the machine. A person approves it when the plugin is added, and everything else
   * is then denied.
   */
  readonly permissions?: PermissionRequest;
  /** Before its first call, with what the orchestrator's configuration says of it. */
  boot?(config: Readonly<Record<string, string>>, context: PluginContext): unknown;
  /** Before it ends. */
  shutdown?(): unknown;
  /** Healthy, if it does not say. */
  health?(): Maybe<HealthStatus | Health>;
}

/** What a plugin says of itself, by the names that it has on the bus. */
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
  /** Only where it is printed: the bus has no place for it. */
  readonly permissions?: PermissionRequest;
}

/** A plugin, ready to be run or tested. */
export interface Plugin {
  readonly id: string;
  readonly manifest: Manifest;
}
