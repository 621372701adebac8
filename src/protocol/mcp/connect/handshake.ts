import { atMost } from "../../../base/abort.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { MCP } from "../../../rpc/codes.ts";
import { notification, request } from "../../../rpc/method.ts";
import type { Peer } from "../../../rpc/peer.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import type { JsonObject } from "../json-object.ts";
import { isObject } from "../../../base/check.ts";
import { ROUTED_EXTENSIONS } from "../meta.ts";
import type { Codec, Implementation } from "../revision/codec.ts";
import {
  NEWEST_SESSION,
  NEWEST_STATELESS,
  newestStateless,
  REVISIONS,
  sessionCodec,
} from "../revision/revisions.ts";

/** The first request to a server: `initialize`, `server/discover`, or ("auto") the latter first. */
export type Era = "auto" | Codec["era"];

/** What a server said in the handshake. */
export interface ServerHello {
  readonly codec: Codec;
  readonly capabilities: JsonObject;
  readonly info: JsonObject;
  readonly instructions?: string;
}

export interface HandshakeOptions {
  readonly era: Era;
  readonly info: Implementation;
  /** Extensions that this server alone is told of. */
  readonly own?: JsonObject;
  /** Milliseconds after which a server that has not answered `server/discover` is sent `initialize`. */
  readonly probe: number;
  readonly signal: AbortSignal;
}

const discover = request<JsonObject, JsonObject>("server/discover");
const initialize = request<JsonObject, JsonObject>("initialize");
const initialized = notification("notifications/initialized");

/** The questions that a server may ask any of our clients: one handshake serves all of them. */
const CAPABILITIES: JsonObject = {
  roots: {},
  sampling: {},
  elicitation: { form: {}, url: {} },
  tasks: {
    list: {},
    cancel: {},
    requests: { sampling: { createMessage: {} }, elicitation: { create: {} } },
  },
};

type Handshake = (peer: Peer, options: HandshakeOptions) => Promise<ServerHello>;

const HANDSHAKES: Readonly<Record<Era, Handshake>> = {
  legacy: byInitialize,
  modern: byDiscover,
  auto: discoverOrInitialize,
};

/** Learns which revision the server speaks and what it can do. */
export async function handshake(peer: Peer, options: HandshakeOptions): Promise<ServerHello> {
  return HANDSHAKES[options.era](peer, options);
}

/**
 * MCP 2026-07-28, basic/versioning § Backward Compatibility: `server/discover` first. A server that
 * answers it with an error, or not in time, is sent `initialize`.
 */
async function discoverOrInitialize(peer: Peer, options: HandshakeOptions): Promise<ServerHello> {
  const modern = byDiscover(peer, options);
  const met = await atMost(options.probe, modern.catch(unlessFatal));
  if (met !== undefined) return met;
  try {
    return await byInitialize(peer, options);
  } catch (error) {
    // The server may have been slow: it refuses `initialize` but answers `server/discover` late.
    if (!(error instanceof RpcError)) throw error;
    const late = await modern.catch(() => undefined);
    if (late !== undefined) return late;
    throw error;
  }
}

async function byDiscover(
  peer: Peer,
  { info, signal, own }: HandshakeOptions,
): Promise<ServerHello> {
  const _meta = NEWEST_STATELESS.requestMeta(info, undefined, { extensions: own ?? {} });
  const ask = (): Promise<JsonObject> => peer.request(discover, { _meta }, { signal });
  const result = await ask().catch((error: unknown) => {
    if (listsOurRevision(error)) return ask();
    throw error;
  });
  const { supportedVersions, capabilities, instructions } = result;
  const codec = newestStateless(supportedVersions);
  if (codec === undefined) throw unsupported(supportedVersions);
  const server = Object.entries(isObject(result._meta) ? result._meta : {}).find(([key]) =>
    key.endsWith("/serverInfo"),
  );
  return {
    codec,
    capabilities: isObject(capabilities) ? capabilities : {},
    info: isObject(server?.[1]) ? server[1] : {},
    ...(typeof instructions === "string" ? { instructions } : {}),
  };
}

async function byInitialize(
  peer: Peer,
  { info, signal, own }: HandshakeOptions,
): Promise<ServerHello> {
  const params = {
    protocolVersion: NEWEST_SESSION.revision,
    capabilities: { ...CAPABILITIES, extensions: { ...ROUTED_EXTENSIONS, ...own } },
    clientInfo: info,
  };
  const result = await peer.request(initialize, params, { signal });
  const { protocolVersion, capabilities, serverInfo, instructions } = result;
  const codec = sessionCodec(protocolVersion);
  if (codec === undefined) throw unsupported(protocolVersion);
  peer.notify(initialized, {});
  return {
    codec,
    capabilities: isObject(capabilities) ? capabilities : {},
    info: isObject(serverInfo) ? serverInfo : {},
    ...(typeof instructions === "string" ? { instructions } : {}),
  };
}

/** The server refuses our revision but lists it: a proxy in between may have changed the request. */
function listsOurRevision(error: unknown): boolean {
  if (!(error instanceof RpcError) || error.code !== MCP.unsupportedVersion.code) return false;
  const supported = isObject(error.data) ? error.data.supported : undefined;
  return newestStateless(supported) !== undefined;
}

/** An error means that the server does not know `server/discover`, unless access is refused. */
function unlessFatal(error: unknown): undefined {
  if (!(error instanceof RpcError)) {
    if (error instanceof TrunklineError && error.code === "unavailable") return undefined;
    throw error;
  }
  const status = isObject(error.data) ? error.data.status : undefined;
  if (status === 401 || status === 403) throw error;
}

function unsupported(revisions: unknown): TrunklineError {
  const theirs = JSON.stringify(revisions);
  const message = `The server speaks revision ${theirs}; known here: ${REVISIONS.join(", ")}`;
  return new TrunklineError("unavailable", message);
}
