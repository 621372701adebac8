import type { AgentOpenOptions, McpServer } from "../session/agent.ts";
import type { Toolbox } from "../tool/toolbox.ts";

/** The MCP servers that a session brings along, and their tools. */
export interface SessionServers extends AsyncDisposable {
  readonly tools: Toolbox;
  /** Waits a bounded time for those of which nothing is known yet. */
  known(): Promise<void> | undefined;
  status(): readonly ServerStatus[];
}

export interface ServerStatus {
  readonly name: string;
  /** Whether it is known what it offers. */
  readonly isKnown: boolean;
  readonly lastError?: string;
}

export type OpenServers = (
  servers: readonly McpServer[],
  options: Pick<AgentOpenOptions, "sessionId" | "cwd" | "log" | "revoked">,
) => Promise<SessionServers>;
