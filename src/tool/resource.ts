import type { Scope } from "../base/principal.ts";
import type { ToolContext } from "./tool.ts";

/** Something that can be read, by its URI. Members nobody here knows are kept. */
export interface ResourceDefinition {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly [member: string]: unknown;
}

/** A family of resources: a URI with `{variables}` (RFC 6570). */
export interface ResourceTemplateDefinition {
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly [member: string]: unknown;
}

export type ResourceContents = { readonly uri: string } & Readonly<Record<string, unknown>>;

export interface ResourceResult {
  readonly contents: readonly ResourceContents[];
  readonly [member: string]: unknown;
}

/** Where resources come from: a capability of ours or another server. */
export interface ResourceProvider {
  /** What a reader's token has to be good for; `tools` where it is left out. */
  readonly scope?: Scope;
  list(): readonly ResourceDefinition[] | Promise<readonly ResourceDefinition[]>;
  templates?():
    | readonly ResourceTemplateDefinition[]
    | Promise<readonly ResourceTemplateDefinition[]>;
  /** Undefined when this provider does not know the URI. */
  read(uri: string, context: ToolContext): Promise<ResourceResult | undefined>;
  complete?(uri: string, argument: CompletionArgument): Promise<Completion | undefined>;
  /** The other server that a URI, or a template as it is written, belongs to; ours belong to none. */
  serverOf?(uri: string): Promise<string | undefined>;
  /** Somebody watches the URI, or nobody does any more. */
  watch?(uri: string): void;
  unwatch?(uri: string): void;
}

/** What is being typed, and what was filled in before it. */
export interface CompletionArgument {
  readonly name: string;
  readonly value: string;
  readonly context?: Readonly<Record<string, string>>;
}

export interface Completion {
  readonly values: readonly string[];
  readonly total?: number;
  readonly hasMore?: boolean;
}
