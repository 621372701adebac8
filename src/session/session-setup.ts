import type { ClientServers, McpServer, Meta, ProviderChoice } from "./agent.ts";
import type { WorktreeRequest } from "./workplace.ts";

/** The labels that a worker must have to open the session. */
export type Labels = Readonly<Record<string, string>>;

export function isLabels(value: unknown): value is Labels {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((each) => typeof each === "string");
}

/** ACP session-setup: where a session works, and with which MCP servers. */
export interface SessionSetup {
  readonly cwd: string;
  readonly additionalDirectories: readonly string[];
  readonly mcpServers: readonly McpServer[];
  /** Reaches those that the client has itself. It is not stored. */
  readonly clientServers?: ClientServers | undefined;
  readonly meta?: Meta | undefined;
  /** The client's choices for the providers of the agent. They are not stored. */
  readonly providers?: ((agent: string) => readonly ProviderChoice[] | undefined) | undefined;
  /** Instructions of the client, for agents that take them. */
  readonly systemPrompt?: Meta | undefined;
  /** For a remote run: what it works on, as a JSON value that is stored with the session. */
  readonly run?: unknown;
  /** The session gets a work tree of its own, made from the repository of `cwd`. */
  readonly worktree?: WorktreeRequest | undefined;
  /** In a fleet: the labels of the workers that may open it. They are stored with the session. */
  readonly labels?: Labels | undefined;
  /** A session that an agent began itself is taken over even if a program seems to be writing to it. */
  readonly isForced?: boolean | undefined;
}
