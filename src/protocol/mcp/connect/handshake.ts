import { TrunklineError } from "../../../base/errors.ts";
import { MCP } from "../../../rpc/codes.ts";
import { method } from "../../../rpc/method.ts";
import type { Peer } from "../../../rpc/peer.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import { isObject, type JsonObject } from "../serve/client.ts";
import { LEGACY_CAPABILITIES, modernEnvelope } from "./envelope.ts";
import type { ServerInfo } from "../serve/result.ts";
import { LEGACY, MODERN, REVISIONS, type Revision } from "../revision/revisions.ts";

/** Which handshake a server is met with: its own, or first the new and then the old one. */
export type Era = "auto" | "legacy" | "modern";

/** What a server says of itself. */
export interface Introduction {
  readonly revision: Revision;
  readonly capabilities: JsonObject;
  readonly info: JsonObject;
  readonly instructions?: string;
}

export interface HandshakeOptions {
  readonly era: Era;
  readonly info: ServerInfo;
  /** Milliseconds after which a server that has not answered the new handshake is met with the old. */
  readonly probe: number;
  readonly signal: AbortSignal;
}

const discover = method<JsonObject, JsonObject>("server/discover");
const initialize = method<JsonObject, JsonObject>("initialize");
const initialized = method<JsonObject>("notifications/initialized");

/** Gets to know the server at the other end. */
export async function shakeHands(peer: Peer, options: HandshakeOptions): Promise<Introduction> {
  if (options.era === "legacy") return meetLegacy(peer, options);
  const modern = meetModern(peer, options);
  if (options.era === "modern") return modern;
  const patience = Promise.withResolvers<undefined>();
  const timer = setTimeout(patience.resolve, options.probe, undefined);
  const met = await Promise.race([modern.catch(unlessFatal), patience.promise]).finally(() => {
    clearTimeout(timer);
  });
  if (met !== undefined) return met;
  try {
    return await meetLegacy(peer, options);
  } catch (error) {
    // It may only have been slow: a server that refuses the old handshake but answers the new one.
    if (!(error instanceof RpcError)) throw error;
    const late = await modern.catch(() => undefined);
    if (late !== undefined) return late;
    throw error;
  }
}

async function meetModern(peer: Peer, { info, signal }: HandshakeOptions): Promise<Introduction> {
  const ask = (): Promise<JsonObject> =>
    peer.request(discover, { _meta: modernEnvelope(info, undefined) }, { signal });
  const result = await ask().catch((error: unknown) => {
    if (speaksModernAfterAll(error)) return ask();
    throw error;
  });
  const { supportedVersions, capabilities, instructions } = result;
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN)) {
    throw unsupported(supportedVersions);
  }
  const server = Object.entries(isObject(result._meta) ? result._meta : {}).find(([key]) =>
    key.endsWith("/serverInfo"),
  );
  return {
    revision: MODERN,
    capabilities: isObject(capabilities) ? capabilities : {},
    info: isObject(server?.[1]) ? server[1] : {},
    ...(typeof instructions === "string" ? { instructions } : {}),
  };
}

async function meetLegacy(peer: Peer, { info, signal }: HandshakeOptions): Promise<Introduction> {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: LEGACY_CAPABILITIES,
    clientInfo: info,
  };
  const result = await peer.request(initialize, params, { signal });
  const { protocolVersion, capabilities, serverInfo, instructions } = result;
  const revision = LEGACY.find((each) => each === protocolVersion);
  if (revision === undefined) throw unsupported(protocolVersion);
  peer.notify(initialized, {});
  return {
    revision,
    capabilities: isObject(capabilities) ? capabilities : {},
    info: isObject(serverInfo) ? serverInfo : {},
    ...(typeof instructions === "string" ? { instructions } : {}),
  };
}

/** It refused our revision and names it among its own: what stands between may have been wrong. */
function speaksModernAfterAll(error: unknown): boolean {
  if (!(error instanceof RpcError) || error.code !== MCP.unsupportedVersion.code) return false;
  const supported = isObject(error.data) ? error.data.supported : undefined;
  return Array.isArray(supported) && supported.includes(MODERN);
}

/** An error means that the server does not know the new handshake, unless nobody may speak to it. */
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
