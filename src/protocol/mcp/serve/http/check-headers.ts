import type { IncomingHttpHeaders } from "node:http";

import { MCP } from "../../../../rpc/codes.ts";
import { RpcError } from "../../../../rpc/rpc-error.ts";
import type { Toolbox } from "../../../../tool/toolbox.ts";
import { isObject } from "../../../../base/check.ts";
import { headerParams, saysTheSame, valueAt } from "./header-params.ts";

/** The parameter that `Mcp-Name` repeats, by method (§ Standard Request Headers). */
const NAME_OF: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/**
 * MCP 2026-07-28, basic/transports/streamable-http § Server Validation: the headers that repeat parts
 * of the body must match it, since proxies route by them. Returns the error where they do not.
 */
export function headerProblem(
  headers: IncomingHttpHeaders,
  method: string,
  params: unknown,
): RpcError | undefined {
  const said = single(headers["mcp-method"]);
  if (said !== method) return mismatch("Mcp-Method", said, method);
  const member = Object.hasOwn(NAME_OF, method) ? NAME_OF[method] : undefined;
  if (member === undefined || !isObject(params)) return undefined;
  const name = params[member];
  if (typeof name !== "string") return undefined;
  const header = single(headers["mcp-name"]);
  // The common case: the same text, with nothing to decode.
  if (header === name && !name.startsWith("=?")) return undefined;
  if (header === undefined || decodeHeader(header) !== name) {
    return mismatch("Mcp-Name", header, name);
  }
  return undefined;
}

/** The same for arguments that the tool's schema marks (§ Custom Headers from Tool Parameters). */
export function paramHeaderProblem(
  headers: IncomingHttpHeaders,
  tools: Pick<Toolbox, "get">,
  params: unknown,
): RpcError | undefined {
  if (!isObject(params) || typeof params.name !== "string") return undefined;
  const tool = tools.get(params.name);
  if (tool === undefined) return undefined;
  for (const { header, path } of headerParams(tool.definition.inputSchema)) {
    const value = valueAt(params.arguments, path);
    if (value === undefined || value === null) continue;
    const said = single(headers[header]);
    const text = said === undefined ? undefined : decodeHeader(said);
    if (text === undefined || !saysTheSame(text, value)) {
      return mismatch(header, said, JSON.stringify(value));
    }
  }
  return undefined;
}

export function versionMismatch(header: string | undefined, version: string): RpcError {
  return mismatch("MCP-Protocol-Version", header, version);
}

function mismatch(name: string, header: string | undefined, value: string): RpcError {
  const says = header === undefined ? "is missing" : `'${header}' does not match`;
  return RpcError.of(MCP.headerMismatch, `${name} header ${says}; the body says '${value}'`);
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(", ") : header;
}

const PREFIX = "=?base64?";
const SUFFIX = "?=";
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The text that a header stands for: itself, or what is in `=?base64?…?=`, which clients use where
 * a header could not carry the text. Undefined when that cannot be read.
 */
function decodeHeader(value: string): string | undefined {
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX)) return value;
  const encoded = value.slice(PREFIX.length, -SUFFIX.length);
  if (!BASE64.test(encoded)) return undefined;
  try {
    return utf8.decode(Buffer.from(encoded, "base64"));
  } catch {
    return undefined;
  }
}
