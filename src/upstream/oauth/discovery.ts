import type { AuthorizationServer } from "oauth4webapi";
import { defined } from "../../base/defined.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { OAuthHttp } from "./oauth-http.ts";

/** A challenge of a server that wants a token (RFC 6750, section 3; RFC 9728, section 5.1). */
interface Challenge {
  readonly scopes: readonly string[];
  readonly error?: string;
  /** Where the metadata of the server is. */
  readonly resourceMetadata?: string;
}

const SCHEME = /(?:^|,)\s*([A-Za-z][\w-]*)(?=\s+[\w-]+\s*=|\s*(?:,|$))/g;
const PARAMETER = /([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;

/** The `Bearer` challenge of a `WWW-Authenticate` header; undefined if it has none. */
export function bearerChallenge(header: string | undefined): Challenge | undefined {
  if (header === undefined) return undefined;
  // Text in quotes is not searched for schemes.
  const bare = header.replace(
    /"(?:[^"\\]|\\.)*"/g,
    (quoted) => `"${" ".repeat(quoted.length - 2)}"`,
  );
  const schemes = [...bare.matchAll(SCHEME)];
  const index = schemes.findIndex(([, name = ""]) => name.toLowerCase() === "bearer");
  if (index === -1) return undefined;
  const end = schemes[index + 1]?.index;
  const text = header.slice(schemes[index]?.index, end);
  const found = new Map<string, string>();
  for (const [, name = "", quoted, plain = ""] of text.matchAll(PARAMETER)) {
    found.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, "$1") ?? plain);
  }
  return defined<Challenge>({
    scopes: scopesOf(found.get("scope")),
    error: found.get("error"),
    resourceMetadata: found.get("resource_metadata"),
  });
}

/** The scopes of a text in which they are separated by spaces. */
export function scopesOf(text: unknown): string[] {
  return typeof text === "string" ? text.split(/\s+/).filter((scope) => scope !== "") : [];
}

/** All scopes of several lists, each once. */
export function unionOf(...lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())];
}

/** Where to log in to an MCP server, and for what. */
export interface LoginEndpoint {
  readonly issuer: AuthorizationServer;
  /** The name of the server in requests for tokens (RFC 8707). */
  readonly resource: string;
  /** The scopes that the server asks for. */
  readonly scopes: readonly string[];
}

type Metadata = Readonly<Record<string, unknown>>;

/**
 * Finds the authorization server of an MCP server. MCP 2025-11-25, basic/authorization § Authorization
 * Server Discovery. `configured` is the issuer that the person has chosen.
 */
export async function discover(
  server: URL,
  challenge: Challenge | undefined,
  http: OAuthHttp,
  configured?: string,
): Promise<LoginEndpoint> {
  const { resourceMetadata: place } = challenge ?? {};
  const told = place === undefined ? null : URL.parse(place, server);
  // With a configured issuer, private networks may be reached: a server may not choose where in them.
  const isFollowed = configured === undefined || told?.origin === server.origin;
  const metadata = await resourceMetadata(server, isFollowed ? told : null, http);
  const named = metadata?.authorization_servers;
  const [first] = Array.isArray(named) ? named : [];
  // Servers of 2025-03-26 have no metadata: they are their own authorization servers.
  const issuer = configured ?? (typeof first === "string" ? first : server.origin);
  const { scopes = [] } = challenge ?? {};
  const supported = metadata?.scopes_supported;
  return {
    issuer: await issuerMetadata(issuer, http),
    resource: typeof metadata?.resource === "string" ? metadata.resource : resourceOf(server),
    scopes:
      scopes.length > 0
        ? scopes
        : unionOf(Array.isArray(supported) ? supported.flatMap(scopesOf) : []),
  };
}

/** RFC 9728: the metadata of the server, from where its challenge says, or from its usual places. */
async function resourceMetadata(
  server: URL,
  told: URL | null,
  http: OAuthHttp,
): Promise<Metadata | undefined> {
  const wellKnown = "/.well-known/oauth-protected-resource";
  const places = [told, new URL(wellKnown + pathOf(server), server), new URL(wellKnown, server)];
  const tried = new Set<string>();
  for (const place of places) {
    if (place === null || tried.has(place.href)) continue;
    tried.add(place.href);
    const metadata = await http.json(place);
    if (metadata === undefined) continue;
    checkResource(server, metadata.resource);
    return metadata;
  }
  return undefined;
}

/** A server may not ask for tokens that are good at another one. */
function checkResource(server: URL, resource: unknown): void {
  if (resource === undefined) return;
  const named = typeof resource === "string" ? URL.parse(resource) : null;
  const folder = named?.pathname.replace(/\/?$/, "/");
  const isOurs = named?.origin === server.origin && `${server.pathname}/`.startsWith(folder ?? "/");
  if (isOurs) return;
  const text = typeof resource === "string" ? `'${resource}'` : "no address";
  throw new TrunklineError("unavailable", `Its metadata is about another server: ${text}`);
}

/** The three places of the metadata of an issuer (RFC 8414 and OpenID Connect Discovery). */
export async function issuerMetadata(
  issuer: string,
  http: OAuthHttp,
): Promise<AuthorizationServer> {
  const url = URL.parse(issuer);
  if (url === null) throw new TrunklineError("unavailable", `Its issuer '${issuer}' is no address`);
  const path = pathOf(url);
  const places = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    `${path}/.well-known/openid-configuration`,
  ];
  for (const place of new Set(places)) {
    const found = await http.json(new URL(place, url));
    if (found === undefined) continue;
    return checkedIssuer(issuer, found);
  }
  const why = "none of the usual places has its metadata";
  const next = "Check the issuer, if you have configured it";
  throw new TrunklineError(
    "unavailable",
    `No authorization server is at ${issuer}: ${why}. ${next}`,
  );
}

function checkedIssuer(issuer: string, metadata: Metadata): AuthorizationServer {
  const { issuer: said, token_endpoint } = metadata;
  // RFC 8414, section 3.3: otherwise one issuer could speak for another.
  if (typeof said !== "string" || URL.parse(said)?.href !== URL.parse(issuer)?.href) {
    const text = `The issuer ${issuer} calls itself '${String(said)}' in its metadata`;
    throw new TrunklineError("unavailable", `${text}, so it is not used`);
  }
  if (!isAddress(token_endpoint)) throw placeless(issuer);
  return metadata as AuthorizationServer;
}

/** Whether people can log in there safely. */
export function mustHavePkce({
  issuer,
  authorization_endpoint,
  code_challenge_methods_supported: methods,
}: AuthorizationServer): void {
  if (!isAddress(authorization_endpoint)) throw placeless(issuer);
  // MCP 2025-11-25, basic/authorization § Authorization Code Protection.
  if (!Array.isArray(methods) || !methods.includes("S256")) {
    const why = "it does not announce PKCE with S256 ('code_challenge_methods_supported')";
    throw new TrunklineError("unavailable", `Cannot log in at ${issuer} safely: ${why}`);
  }
}

function placeless(issuer: string): TrunklineError {
  const says = `The issuer ${issuer} does not say where it gives tokens`;
  return new TrunklineError("unavailable", says);
}

function isAddress(value: unknown): value is string {
  return typeof value === "string" && URL.canParse(value);
}

/** MCP 2025-11-25, basic/authorization § Canonical Server URI. */
function resourceOf(server: URL): string {
  return server.origin + pathOf(server) + server.search;
}

function pathOf({ pathname }: URL): string {
  return pathname.replace(/\/$/, "");
}
