import { MCP, STANDARD } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import type { JsonObject } from "../json-object.ts";
import { isObject } from "../../../base/check.ts";
import { isLogLevel, LOG_LEVELS, type McpLogLevel } from "../log-levels.ts";
import { META, metaOf } from "../meta.ts";
import { REVISIONS, statelessCodec, agreeOn, PLAINEST } from "../revision/revisions.ts";
import { OWNER, type Principal } from "../../../base/principal.ts";
import { SessionRoots } from "./roots.ts";
import type { Codec } from "../revision/codec.ts";

/**
 * Part of the ids, since the audit holds connections of other processes too. Loading `node:crypto` for
 * it would slow the start.
 */
const RUN = process.pid.toString(36) + Math.trunc(Date.now() / 1000).toString(36);
let opened = 0;

/** The state of one connection. In revisions with sessions, that is what `initialize` agreed on. */
export class Connection implements Disposable {
  /** The client of a request that does not describe it. */
  client: Client = UNKNOWN;
  /** Whether it has said who it is. */
  isInitialized = false;
  /** Whether the client has said which messages it wants. */
  hasSetLevel = false;
  readonly #ends: (() => void)[] = [];
  /** How to stop watching, by URI. */
  readonly watches = new Map<string, () => void>();
  /** Ids of the tasks that were begun here. */
  readonly tasks = new Set<string>();
  /** Tells it apart from all others. Joined, since each record of a call holds it: JSON writes a flat
   * string twice as fast as one that V8 keeps as a concatenation. */
  readonly id = ["mcp", RUN, ++opened].join("-");
  /** Who is behind the connection. */
  readonly principal: Principal;
  /** The folder that we were started in by the client, where it started us. */
  readonly folder: string | undefined;
  /** The profile that the client was started with. */
  readonly profile: string | undefined;
  readonly roots = new SessionRoots();

  constructor(principal: Principal = OWNER, folder?: string, profile?: string) {
    this.principal = principal;
    this.folder = folder;
    this.profile = profile;
  }

  agree(requested: string, capabilities: JsonObject, info: unknown): Codec {
    const codec = agreeOn(requested);
    this.client = { codec, capabilities, name: nameOf(info), logLevel: "info" };
    this.isInitialized = true;
    return codec;
  }

  set logLevel(logLevel: McpLogLevel) {
    this.client = { ...this.client, logLevel };
    this.isInitialized = true;
    this.hasSetLevel = true;
  }

  /** Runs when the connection is over. */
  onEnd(end: () => void): void {
    this.#ends.push(end);
  }

  [Symbol.dispose](): void {
    for (const stop of this.watches.values()) stop();
    this.watches.clear();
    for (const end of this.#ends.splice(0)) end();
  }
}

/** A client that asks before it has sent `initialize`. */
const UNKNOWN: Client = {
  codec: PLAINEST,
  capabilities: {},
  name: "unknown",
  logLevel: undefined,
};

/** The caller whom we serve, as `initialize` or the request itself describes it. */
export interface Client {
  /** The codec of its revision. */
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

/** A request's description of its client. It may name a revision that we do not speak. */
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
