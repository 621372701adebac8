import { META } from "../../protocol/mcp/meta.ts";
import { nameOfRequest, type ParameterHeader, valueAt } from "../../protocol/mcp/param-headers.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** The parts of a message that headers repeat. */
export interface HttpRequestBody {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: JsonObject;
}

/** The revision a message claims for itself, as all requests do from 2026-07-28 on. */
export function claimedRevision({ params }: HttpRequestBody): string | undefined {
  const meta = params?._meta as JsonObject | undefined;
  const revision = meta?.[META.protocolVersion];
  return typeof revision === "string" ? revision : undefined;
}

/** MCP 2026-07-28, basic/transports/streamable-http § Standard Request Headers (SEP-2243). */
export function modernHeaders(
  message: HttpRequestBody,
  revision: string,
  parametersOf: (tool: string) => readonly ParameterHeader[] | undefined,
): Record<string, string> {
  const { method, params = {} } = message;
  const headers: Record<string, string> = { "mcp-protocol-version": revision };
  if (typeof method !== "string") return headers;
  headers["mcp-method"] = method;
  const name = nameOfRequest(method, params);
  if (name === undefined) return headers;
  headers["mcp-name"] = headerValue(name);
  if (method !== "tools/call") return headers;
  for (const { header, path } of parametersOf(name) ?? []) {
    const value = valueAt(params.arguments, path);
    if (isScalar(value)) headers[`mcp-param-${header}`] = headerValue(String(value));
  }
  return headers;
}

/** MCP 2026-07-28, streamable-http § Value Encoding: plain where that is safe, else in base64. */
function headerValue(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  if (isPlain && !text.startsWith("=?base64?")) return text;
  return `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
