import type { IncomingMessage } from "node:http";

/** `b64token` of RFC 6750, section 2.1. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/** The token of a request: undefined where it has none, "unreadable" where that is not one token. */
export function readBearer(request: IncomingMessage): { token: string } | "unreadable" | undefined {
  const { authorization } = request.headers;
  if (authorization === undefined) return undefined;
  // Node goes by the first of several, and another program on the way may go by the last.
  const isOnly = request.rawHeaders.filter(isAuthorization).length === 1;
  const token = isOnly ? BEARER.exec(authorization)?.[1] : undefined;
  return token === undefined ? "unreadable" : { token };
}

function isAuthorization(text: string, index: number): boolean {
  return index % 2 === 0 && text.toLowerCase() === "authorization";
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
