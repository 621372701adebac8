import { TrunklineError } from "../../base/errors.ts";
import type { Scope } from "../../base/principal.ts";
import type { Config } from "../../config/config.ts";
import {
  hostOf,
  isLoopbackAddress,
  isLoopbackAuthority,
  type Reachability,
} from "./refuse-foreign.ts";

/**
 * How the gateway is served, and to whom: the resolved settings `server` and `serve`.
 */
export interface ServePlan extends Reachability {
  readonly host: string;
  readonly port: number;
  /**
   * Other machines are meant to reach it, directly or through a proxy: nobody is trusted for where
   * they come from.
   */
  readonly isOpen: boolean;
  /** Without a slash at its end. */
  readonly publicUrl: string | undefined;
  readonly publicOrigin: string | undefined;
  /** The names by which others reach it through a proxy: those of the configuration. */
  readonly proxied: ReadonlySet<string>;
  /** `--no-auth`: programs on this machine need no token. */
  readonly noAuth: boolean;
  readonly tls: Config["serve"]["tls"];
  readonly oauth: OAuth | undefined;
}

/** Access by tokens of an authorization server. */
export interface OAuth {
  readonly authorizationServers: readonly string[];
  readonly scopes: readonly string[];
  readonly audiences: readonly string[];
  /** What its tokens let their bearers do here. */
  readonly grants: readonly Scope[];
  /** RFC 8707: the resource that tokens are for. */
  readonly resource: string;
  /** RFC 9728: the address of the protected resource metadata. */
  readonly metadataUrl: string;
  /** Our client id at authorization servers that do not register clients. */
  readonly clientId?: string;
}

/** The scopes that an authorization server's tokens give here, unless the configuration says. */
const USUAL_GRANTS: readonly Scope[] = ["tools", "sessions", "review", "dashboard"];

export const METADATA_PATH = "/.well-known/oauth-protected-resource";

/**
 * Throws "config" at settings that contradict each other, and "usage" for `--no-auth` on an address
 * that other machines reach.
 */
export function resolveServing(
  { serve }: Pick<Config, "serve">,
  { noAuth = false }: { readonly noAuth?: boolean } = {},
): ServePlan {
  const { host, port } = serve;
  const publicUrl = readPublicUrl(serve.publicUrl);
  const isLoopback = isLoopbackAddress(host);
  const isPublic = publicUrl !== undefined && !isLoopbackAuthority(new URL(publicUrl).host);
  const named = publicUrl === undefined ? [] : [hostOf(new URL(publicUrl).host) ?? ""];
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  const names = [...named, ...serve.allowedHosts].map((name) => name.toLowerCase());
  const origins = [...serve.allowedOrigins.map(readOrigin), publicOrigin];
  if (noAuth) refuseOpen(isLoopback ? undefined : host, isPublic ? publicUrl : undefined);
  return {
    host,
    port,
    isLoopback,
    isOpen: !isLoopback || isPublic,
    publicUrl,
    publicOrigin,
    noAuth,
    hosts: new Set([host.toLowerCase(), ...names]),
    proxied: new Set(names.filter((name) => !isLoopbackAddress(name))),
    origins: new Set(origins.filter((each) => each !== undefined)),
    tls: serve.tls,
    oauth: serve.oauth === undefined ? undefined : readOAuth(serve.oauth, publicUrl),
  };
}

function refuseOpen(...reaches: (string | undefined)[]): void {
  const reach = reaches.find((each) => each !== undefined);
  if (reach === undefined) return;
  const why = "others could reach it, and use it as you. It is for development on loopback alone";
  throw new TrunklineError("usage", `Cannot serve '${reach}' with --no-auth: ${why}.`);
}

/** A warning where tokens would travel in clear text over a network. */
export function clearTextWarning({ isLoopback, tls, publicUrl }: ServePlan): string | undefined {
  if (isLoopback || tls !== undefined || publicUrl?.startsWith("https:") === true) return undefined;
  return (
    "tokens travel in clear text to this address. Set `serve.tls`, or put a proxy in front that " +
    "speaks TLS and set `serve.publicUrl`."
  );
}

function readPublicUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  const isPlain = url !== null && url.search === "" && url.hash === "" && url.username === "";
  if (!isPlain || url.password !== "") {
    throw wrong("publicUrl", text, "it has to be an address without a query or a name to sign in");
  }
  return url.href.replace(/\/+$/, "");
}

function readOrigin(text: string): string {
  const url = URL.parse(text);
  if (url === null || `${url.origin}/` !== url.href) {
    const next = "it has to be an origin such as https://app.example.com, without a path";
    throw wrong("allowedOrigins", text, next);
  }
  return url.origin;
}

function readOAuth(
  oauth: NonNullable<Config["serve"]["oauth"]>,
  publicUrl: string | undefined,
): OAuth {
  const { authorizationServers, scopes = [], audience, grants, clientId } = oauth;
  if (publicUrl === undefined) {
    const why = "`serve.oauth` needs `serve.publicUrl`: tokens are made out to that address";
    throw new TrunklineError("config", `${why}. Set it to where others reach this gateway.`);
  }
  for (const issuer of authorizationServers) mustBeSafe(issuer);
  const resource = `${publicUrl}/mcp`;
  return {
    authorizationServers,
    scopes,
    ...(clientId === undefined ? {} : { clientId }),
    grants: grants ?? USUAL_GRANTS,
    audiences: audience === undefined ? [resource] : [resource, audience],
    resource,
    metadataUrl: `${publicUrl}${METADATA_PATH}/mcp`,
  };
}

function mustBeSafe(issuer: string): void {
  if (isSafeUrl(issuer)) return;
  const why = "keys are not to be fetched in clear text. Use https, or an address of this machine";
  throw wrong("oauth.authorizationServers", issuer, why);
}

/** Whether what is fetched from there cannot be changed on the way: HTTPS, or this machine. */
export function isSafeUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null) return false;
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopbackAuthority(url.host));
}

function wrong(key: string, value: string, why: string): TrunklineError {
  return new TrunklineError("config", `Cannot use '${value}' as \`serve.${key}\`: ${why}.`);
}
