import type { Audit } from "./audit.ts";
import type { CallObserver } from "./call-observer.ts";
import type { ToolSources } from "./offer/tool-sources.ts";
import type { Policy } from "./policy.ts";
import type { AddressesOf, RepositoryOf, Tool } from "./tool.ts";
import type { Approver } from "./tool-registry.ts";

export interface ToolboxOptions {
  readonly policy?: Policy;
  readonly audit?: Audit;
  readonly observer?: CallObserver | undefined;
  /** Without it, the tools of other servers are offered without approval. */
  readonly approver?: Approver;
  /** Makes a tool for an unknown name, so that it can be called though it is not listed. */
  readonly fallback?: (name: string) => Tool | undefined;
  /** Its tools belong to the caller that brought them: no scope of a token is needed. */
  readonly isPrivate?: boolean;
  /** Sources that may still bring a tool: a call of an unknown tool waits for them. */
  readonly sources?: Required<ToolSources>;
  /** Finds the repositories among a client's roots; without it, no root is one. */
  readonly repositoryOf?: RepositoryOf | undefined;
  /** Tells whether a principal may use a repository that is limited to some; without it, none has one. */
  readonly addressesOf?: AddressesOf | undefined;
  /** Gets the cause of a fault in a tool; the caller is told only that there was one. */
  readonly report?: (event: string, fields: Record<string, unknown>) => void;
}
