import { isObject } from "../../base/check.ts";

/**
 * The parameter that `Mcp-Name` repeats, by method (MCP 2026-07-28,
 * basic/transports/streamable-http § Standard Request Headers).
 */
const NAMED_BY: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** The value of `Mcp-Name` for a request; undefined if it has none. */
export function nameOfRequest(method: string, params: unknown): string | undefined {
  const member = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  if (member === undefined || !isObject(params)) return undefined;
  const name = params[member];
  return typeof name === "string" ? name : undefined;
}

/** An argument of a tool that is repeated in a header. */
export interface ParameterHeader {
  /** In lower case, without `mcp-param-`. */
  readonly header: string;
  readonly path: readonly string[];
}

/** The arguments that a tool's schema marks, and whether all marks can be headers. */
interface ParameterHeaders {
  readonly headers: readonly ParameterHeader[];
  /** If not, the tool must not be offered over HTTP (SEP-2243). */
  readonly areSound: boolean;
}

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);

/**
 * The arguments that a tool wants repeated in headers, by its schema's `x-mcp-header`, at every depth of
 * `properties` (§ Custom Headers from Tool Parameters).
 */
export function parameterHeaders(schema: unknown): ParameterHeaders {
  const headers: ParameterHeader[] = [];
  let areSound = true;
  const collect = (part: unknown, path: readonly string[]): void => {
    const { properties } = isObject(part) ? part : {};
    if (!isObject(properties)) return;
    for (const [name, property] of Object.entries(properties)) {
      if (!isObject(property)) continue;
      const { type, "x-mcp-header": mark } = property;
      const here = [...path, name];
      if (typeof mark === "string" && TOKEN.test(mark)) {
        const header = mark.toLowerCase();
        areSound &&= HEADER_TYPES.has(type) && !headers.some((other) => other.header === header);
        headers.push({ header, path: here });
      } else areSound &&= mark === undefined;
      collect(property, here);
    }
  };
  collect(schema, []);
  return { headers, areSound };
}

export function valueAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const step of path) at = isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
  return at;
}
