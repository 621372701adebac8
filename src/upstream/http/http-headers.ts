import { isObject } from "../../base/check.ts";
import { META } from "../../protocol/mcp/meta.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** What a message is about, as far as headers tell of it. */
export interface HttpRequestBody {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: JsonObject;
}

/** Where the value of a header is found in a tool's arguments: its name → the path to it. */
export type ParameterHeaders = ReadonlyMap<string, readonly string[]>;

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
  parametersOf: (tool: string) => ParameterHeaders | undefined,
): Record<string, string> {
  const { method, params = {} } = message;
  const headers: Record<string, string> = { "mcp-protocol-version": revision };
  if (typeof method !== "string") return headers;
  headers["mcp-method"] = method;
  const name = NAMED_BY[method] === undefined ? undefined : params[NAMED_BY[method]];
  if (typeof name === "string") headers["mcp-name"] = headerValue(name);
  if (method !== "tools/call" || typeof name !== "string") return headers;
  for (const [header, path] of parametersOf(name) ?? []) {
    const value = valueAt(params.arguments, path);
    if (isScalar(value)) headers[`mcp-param-${header}`] = headerValue(String(value));
  }
  return headers;
}

const NAMED_BY: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** MCP 2026-07-28, streamable-http § Value Encoding: plain where that is safe, else in base64. */
function headerValue(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  if (isPlain && !text.startsWith("=?base64?")) return text;
  return `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
const DEEPEST = 16;

/**
 * The arguments that a tool wants repeated in headers, by its schema's `x-mcp-header`. Undefined
 * when it wants what cannot be: such a tool must not be offered over HTTP (SEP-2243).
 */
export function parameterHeaders(schema: unknown): ParameterHeaders | undefined {
  const found = new Map<string, readonly string[]>();
  return collect(schema, [], found) ? found : undefined;
}

function collect(schema: unknown, path: string[], found: Map<string, readonly string[]>): boolean {
  const { properties } = isObject(schema) ? schema : {};
  if (!isObject(properties) || path.length > DEEPEST) return true;
  return Object.entries(properties).every(([name, property]) => {
    if (!isObject(property)) return true;
    const at = [...path, name];
    const header = property["x-mcp-header"];
    if (header === undefined) return collect(property, at, found);
    if (typeof header !== "string" || !TOKEN.test(header)) return false;
    const key = header.toLowerCase();
    if (!HEADER_TYPES.has(property.type) || found.has(key)) return false;
    found.set(key, at);
    return collect(property, at, found);
  });
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const step of path) at = isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
  return at;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
