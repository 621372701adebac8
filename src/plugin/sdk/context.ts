/** Writes diagnostics to stderr. The orchestrator keeps the last lines (`trunkline plugin log`). */
export interface PluginLog {
  debug(event: string, fields?: Readonly<Record<string, unknown>>): void;
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: string, fields?: Readonly<Record<string, unknown>>): void;
  error(event: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** A content block of MCP: text, image, audio, resource or resource link. */
export type ContentPiece = { readonly type: string } & Readonly<Record<string, unknown>>;

/** The result of a tool call. */
export interface CallResult {
  /** The result as text, for people and models. */
  readonly text: string;
  readonly structured?: unknown;
  readonly content: readonly ContentPiece[];
}

/** A document in a storage. */
export interface StoredDocument {
  readonly content: Uint8Array;
  /** The content as UTF-8. */
  readonly text: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly version: number;
}

export interface WriteOptions {
  /** The version that must be there: 0 for a new document. Without it, any version is replaced. */
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
  /** Resolves to undefined if there is no such document. */
  read(path: string): Promise<StoredDocument | undefined>;
  /** Resolves to the new version. Rejects if `options.version` is not the current one. */
  write(path: string, content: string | Uint8Array, options?: WriteOptions): Promise<number>;
  /** Resolves to whether the document existed. */
  delete(path: string): Promise<boolean>;
  list(prefix?: string, pattern?: string): Promise<StoredEntry[]>;
  /** A storage of another type, such as `markdown`. */
  of(type: string): PluginStorage;
}

/** Gives a handler access to the log, the storage, other tools and events. */
export interface PluginContext {
  readonly log: PluginLog;
  /** Aborted when the caller has cancelled or gone, or the plugin ends. */
  readonly signal: AbortSignal;
  readonly storage: PluginStorage;
  /** Calls a tool of another plugin, or of Trunkline. Throws a `ToolError` if the tool fails. */
  readonly callTool: (
    name: string,
    args?: Readonly<Record<string, unknown>>,
  ) => Promise<CallResult>;
  /** Publishes an event to the subscribers of a topic. */
  readonly publish: (
    topic: string,
    type: string,
    payload?: Readonly<Record<string, unknown>>,
  ) => Promise<void>;
}

/** The context of a tool call. */
export interface CallContext extends PluginContext {
  /** The caller, as far as it is known. */
  readonly caller: string;
  readonly sessionId?: string;
  /** The folder of the project, if known. Tools that this call calls get it, too. */
  readonly project?: string;
  /** The AI provider to use, if several plugins offer the tool. */
  readonly provider?: string;
}
