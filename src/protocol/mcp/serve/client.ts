import { MCP, STANDARD } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import { LOG_LEVELS, type McpLogLevel, META, TASKS_EXTENSION } from "../names.ts";
import { MODERN, REVISIONS, type Revision } from "../revision/revisions.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** What is known of the side that asks: from `initialize`, or from the request itself. */
export interface Client {
  readonly revision: Revision;
  readonly capabilities: JsonObject;
  /** "unknown" when it gave none. */
  readonly name: string;
  /** The least serious messages it wants; none when left out. */
  readonly logLevel: McpLogLevel | undefined;
}

export function isModern(client: Client): boolean {
  return client.revision === MODERN;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The `_meta` of a request's parameters. */
export function metaOf(params: unknown): JsonObject {
  const meta = isObject(params) ? params._meta : undefined;
  return isObject(meta) ? meta : NOTHING;
}

const NOTHING: JsonObject = Object.freeze({});

/** Whether a request speaks for itself, as all do from 2026-07-28 on. */
export function claimsModern(params: unknown): boolean {
  return metaOf(params)[META.protocolVersion] !== undefined;
}

/** What a request of 2026-07-28 says of itself and of who sent it. */
export interface Claim extends Omit<Client, "revision"> {
  readonly version: string;
}

/** Throws the error that a request deserves which does not say all of it. */
export function claimOf(params: unknown): Claim {
  const meta = metaOf(params);
  const version = meta[META.protocolVersion];
  const capabilities = meta[META.clientCapabilities];
  const logLevel = meta[META.logLevel];
  if (typeof version !== "string") throw missing(META.protocolVersion, "a string");
  if (!isObject(capabilities)) throw missing(META.clientCapabilities, "an object");
  if (logLevel !== undefined && !isLogLevel(logLevel)) {
    throw missing(META.logLevel, `one of: ${LOG_LEVELS.join(", ")}`);
  }
  return { version, capabilities, name: nameOf(meta[META.clientInfo]), logLevel };
}

/** The client as a request of 2026-07-28 describes it. Throws the error that the request deserves. */
export function modernClient(params: unknown): Client {
  const { version, capabilities, name, logLevel } = claimOf(params);
  if (version !== MODERN) throw unsupportedVersion(version);
  return { revision: MODERN, capabilities, name, logLevel };
}

export function unsupportedVersion(requested: string): RpcError {
  return RpcError.of(MCP.unsupportedVersion, undefined, { supported: REVISIONS, requested });
}

export function nameOf(info: unknown): string {
  return isObject(info) && typeof info.name === "string" ? info.name : "unknown";
}

export function isLogLevel(value: unknown): value is McpLogLevel {
  return (LOG_LEVELS as readonly unknown[]).includes(value);
}

/** Whether a side takes part in tasks by the extension of 2026-07-28. */
export function hasTasks(client: Pick<Client, "capabilities">): boolean {
  const { extensions } = client.capabilities;
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

export function missingCapability(requiredCapabilities: JsonObject): RpcError {
  return RpcError.of(MCP.missingCapability, undefined, { requiredCapabilities });
}

function missing(key: string, what: string): RpcError {
  return RpcError.of(STANDARD.invalidParams, `'params._meta["${key}"]' must be ${what}`);
}
