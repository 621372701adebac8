import type { IncomingMessage } from "node:http";

import type { Entry } from "../access/admission.ts";

/** The paths that are counted each by itself. */
export const PATHS = new Set([
  ...["/mcp", "/sse", "/messages", "/acp"],
  ...["/healthz", "/readyz", "/metrics", "/", "/login", "/logout"],
]);

/** Either scope opens /mcp; each tool checks the one that it needs. */
export const TOOLS: Entry = { scopes: ["tools", "review"], what: "MCP" };

/** The scopes that a path needs. */
export const ENTRIES: Readonly<Record<string, Entry>> = {
  "/acp": { scopes: ["sessions"], what: "ACP", takesRaw: true },
  "/metrics": { scopes: ["dashboard"], what: "/metrics" },
};
export const DASHBOARD: Entry = { scopes: ["dashboard"], what: "The dashboard" };

/** The label of a counter: unknown paths share one, so that strangers cannot create series. */
export function knownPath(path: string): string {
  return PATHS.has(path) ? path : "other";
}

/** Paths that need no token: health, and RFC 9728 metadata. */
export function isForAll(path: string): boolean {
  return path === "/healthz" || path === "/readyz" || path.startsWith("/.well-known/");
}

/** `/acp?agent=NAME` chooses the agent for the sessions of a connection. */
export function agentOf({ url = "" }: IncomingMessage): string | undefined {
  const [, query = ""] = url.split("?", 2);
  return new URLSearchParams(query).get("agent") ?? undefined;
}

export function pathOf(request: IncomingMessage): string {
  return request.url?.split("?")[0] ?? "/";
}
