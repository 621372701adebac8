import { MCP_2024_11_05 } from "./2024-11-05.ts";
import { MCP_2025_03_26 } from "./2025-03-26.ts";
import { MCP_2025_06_18 } from "./2025-06-18.ts";
import { MCP_2025_11_25 } from "./2025-11-25.ts";
import { MCP_2026_07_28 } from "./2026-07-28.ts";
import type { Codec, Revision } from "./codec.ts";

/** Every revision spoken here, newest first. */
const CODECS: readonly Codec[] = [
  MCP_2026_07_28,
  MCP_2025_11_25,
  MCP_2025_06_18,
  MCP_2025_03_26,
  MCP_2024_11_05,
];

const named = (codecs: readonly Codec[]): Revision[] => codecs.map(({ revision }) => revision);

export const REVISIONS: readonly Revision[] = named(CODECS);
/** The revisions that are agreed on by `initialize`, newest first. */
export const SESSION_REVISIONS: readonly Revision[] = named(
  CODECS.filter(({ has }) => has.session),
);
/** The revision that we request from servers without a handshake. */
export const NEWEST_STATELESS: Codec = MCP_2026_07_28;
/** What we offer in a handshake, and answer to one that asks for a revision which we do not speak. */
export const NEWEST_SESSION: Codec = MCP_2025_11_25;
/** The revision that is assumed for a client that sends requests before it has named one. */
export const PLAINEST: Codec = MCP_2024_11_05;

const byRevision: ReadonlyMap<unknown, Codec> = new Map(
  CODECS.map((codec) => [codec.revision, codec]),
);

/** The codec of a revision whose connections begin with `initialize`. */
export function sessionCodec(revision: unknown): Codec | undefined {
  const codec = byRevision.get(revision);
  return codec?.has.session === true ? codec : undefined;
}

/** The codec of a revision in which each request describes its client. */
export function statelessCodec(revision: unknown): Codec | undefined {
  const codec = byRevision.get(revision);
  return codec?.has.session === false ? codec : undefined;
}

/** The newest stateless revision that a server lists. */
export function newestStateless(supported: unknown): Codec | undefined {
  if (!Array.isArray(supported)) return undefined;
  return CODECS.find(({ has, revision }) => !has.session && supported.includes(revision));
}

/**
 * MCP 2025-11-25, basic/lifecycle § Version Negotiation: a server that speaks the requested version
 * answers with it, and otherwise with another one that it speaks, which should be its newest.
 */
export function agreeOn(requested: string): Codec {
  return sessionCodec(requested) ?? NEWEST_SESSION;
}
