import { MCP, STANDARD } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import { isObject, type JsonObject } from "../json-object.ts";
import { isLogLevel, LOG_LEVELS, type McpLogLevel } from "../log-levels.ts";
import { META, metaOf } from "../meta.ts";
import type { Codec } from "../revision/codec.ts";
import { REVISIONS, statelessCodec } from "../revision/revisions.ts";

/** The caller whom we serve, as `initialize` or the request itself describes it. */
export interface Client {
  /** How its revision says things. */
  readonly codec: Codec;
  readonly capabilities: JsonObject;
  /** "unknown" when it gave none. */
  readonly name: string;
  /** The least serious messages it wants; none when left out. */
  readonly logLevel: McpLogLevel | undefined;
}

/** Whether a request describes its client, as all do in revisions without sessions. */
export function describesClient(params: unknown): boolean {
  return metaOf(params)[META.protocolVersion] !== undefined;
}

/** What a request says of its client; its revision may be one that we do not speak. */
export interface DescribedClient extends Omit<Client, "codec"> {
  readonly version: string;
}

/**
 * MCP 2026-07-28, basic § _meta: the version and the capabilities are required. Throws the error that
 * a request without them is answered with.
 */
export function describedClient(params: unknown): DescribedClient {
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

/** The client of a request that describes it. Throws the error that the request is answered with. */
export function clientOfRequest(params: unknown): Client {
  const { version, capabilities, name, logLevel } = describedClient(params);
  const codec = statelessCodec(version);
  if (codec === undefined) throw unsupportedVersion(version);
  return { codec, capabilities, name, logLevel };
}

export function unsupportedVersion(requested: string): RpcError {
  return RpcError.of(MCP.unsupportedVersion, undefined, { supported: REVISIONS, requested });
}

export function nameOf(info: unknown): string {
  return isObject(info) && typeof info.name === "string" ? info.name : "unknown";
}

export function missingCapability(requiredCapabilities: JsonObject): RpcError {
  return RpcError.of(MCP.missingCapability, undefined, { requiredCapabilities });
}

function missing(key: string, what: string): RpcError {
  return RpcError.of(STANDARD.invalidParams, `'params._meta["${key}"]' must be ${what}`);
}
