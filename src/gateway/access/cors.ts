import type { IncomingMessage, ServerResponse } from "node:http";

const METHODS = "GET, POST, DELETE";
const EXPOSED = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After";
/** Headers that a page may send. Those of arguments (`Mcp-Param-…`) are as the tools name them. */
const TAKEN = /^(?:accept|authorization|content-type|last-event-id|mcp-[a-z0-9-]{1,128})$/;
/** How long a browser may go by an answer, in seconds. */
const MAX_AGE = "600";

/** Lets a page read the answer whose origin was found to be allowed. */
export function allowOrigin({ headers }: IncomingMessage, response: ServerResponse): void {
  const { origin } = headers;
  if (origin === undefined) return;
  response.setHeader("vary", "Origin");
  // Never `*`, and nothing is said of credentials: a page has to have the token itself.
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", EXPOSED);
}

/** Answers a browser that asks whether it may send a page's request. Returns whether it did ask. */
export function answerPreflight({ method, headers }: IncomingMessage, response: ServerResponse) {
  const wanted = headers["access-control-request-method"];
  if (method !== "OPTIONS" || headers.origin === undefined || wanted === undefined) return false;
  const names = (headers["access-control-request-headers"] ?? "").toLowerCase().split(",");
  const taken = names.map((name) => name.trim()).filter((name) => TAKEN.test(name));
  response.writeHead(204, {
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": taken.join(", "),
    "access-control-max-age": MAX_AGE,
  });
  response.end();
  return true;
}
