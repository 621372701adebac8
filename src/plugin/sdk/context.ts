/** Diagnostics: lines on stderr, which the orchestrator keeps. */
export interface PluginLog {
  debug(event: string, fields?: Readonly<Record<string, unknown>>): void;
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: string, fields?: Readonly<Record<string, unknown>>): void;
  error(event: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** One piece of an answer: text, image, audio, resource or a link to one, as MCP has them. */
export type ContentPiece = { readonly type: string } & Readonly<Record<string, unknown>>;

/** What a tool answered. */
export interface CallResult {
  /** What a person reads of it. */
  readonly text: string;
  readonly structured?: unknown;
  readonly content: readonly ContentPiece[];
}

/** A document of a storage. */
export interface StoredDocument {
  readonly content: Uint8Array;
  /** The content as UTF-8. */
  readonly text: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly version: number;
}

export interface WriteOptions {
  /** The version that is replaced; 0 if there must be none yet. Left out, whatever is there. */
  readonly version?: number;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface StoredEntry {
  readonly path: string;
  readonly size: number;
  readonly version: number;
  readonly modifiedAt: Date;
}

/** Documents that outlive the plugin. Every write makes a new version. */
export interface PluginStorage {
  /** Undefined when there is none. */
  read(path: string): Promise<StoredDocument | undefined>;
  /** Resolves to the new version. Rejects when another than the given one is there. */
  write(path: string, content: string | Uint8Array, options?: WriteOptions): Promise<number>;
  /** Whether there was one. */
  delete(path: string): Promise<boolean>;
  list(prefix?: string, pattern?: string): Promise<StoredEntry[]>;
  /** The storage of another kind, such as `markdown`. */
  of(type: string): PluginStorage;
}

/** What a plugin can do outside itself. */
export interface PluginContext {
  readonly log: PluginLog;
  /** Aborted when what is being done is no longer wanted. */
  readonly signal: AbortSignal;
  readonly storage: PluginStorage;
  /** Calls a tool of another plugin or of the program. Throws a `ToolError` when it fails. */
  readonly callTool: (
    name: string,
    args?: Readonly<Record<string, unknown>>,
  ) => Promise<CallResult>;
  /** Tells whoever subscribed to the topic. */
  readonly publish: (
    topic: string,
    type: string,
    payload?: Readonly<Record<string, unknown>>,
  ) => Promise<void>;
}

/** While a tool is called. */
export interface CallContext extends PluginContext {
  /** Who calls, as far as is known. */
  readonly caller: string;
  readonly sessionId?: string;
  /** The folder of the project that it is about, where known. Tools that it calls are told it too. */
  readonly project?: string;
  /** Which provider of AI is meant, where several offer the tool. */
  readonly provider?: string;
}
