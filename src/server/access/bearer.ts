import type { IncomingMessage } from "node:http";

/** `b64token` of RFC 6750, section 2.1. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/** The token alone, as clients of the remote run server guide send it. */
const RAW = /^ *([A-Za-z0-9\-._~+/]+=*) *$/;

/**
 * The token of a request: undefined where it has none, "unreadable" where that is not a token.
 * `takesRaw` where it may come without a scheme.
 */
export function readBearer(
  { headers: { authorization } }: Pick<IncomingMessage, "headers">,
  takesRaw = false,
): { token: string } | "unreadable" | undefined {
  if (authorization === undefined) return undefined;
  const match = BEARER.exec(authorization) ?? (takesRaw ? RAW.exec(authorization) : null);
  const token = match?.[1];
  return token === undefined ? "unreadable" : { token };
}

export interface Challenge {
  readonly error?: "invalid_token" | "insufficient_scope";
  readonly description?: string;
  readonly scopes?: readonly string[];
  /** Where RFC 9728 has it described who gives out tokens. */
  readonly metadataUrl?: string | undefined;
}

/** `WWW-Authenticate`: RFC 6750, section 3, and RFC 9728, section 5.1. */
export function challenge({ error, description, scopes = [], metadataUrl }: Challenge): string {
  const parts = {
    realm: "trunkline",
    error,
    error_description: description,
    scope: scopes.length === 0 ? undefined : scopes.join(" "),
    resource_metadata: metadataUrl,
  };
  const told = Object.entries(parts).filter(([, value]) => value !== undefined);
  return `Bearer ${told.map(([name, value]) => `${name}="${value}"`).join(", ")}`;
}
