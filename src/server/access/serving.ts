import { describeProblem, type Problem } from "../../base/check.ts";
import { TrunklineError } from "../../base/errors.ts";
import { maskText } from "../../base/text/mask.ts";
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
  const { host, port, oauth } = serve;
  const [mistake] = servingMistakes(serve);
  if (mistake !== undefined)
    throw new TrunklineError("config", `${describeProblem("serve", mistake)}.`);
  const publicUrl = serve.publicUrl && new URL(serve.publicUrl).href.replace(/\/+$/, "");
  const isLoopback = isLoopbackAddress(host);
  const isPublic = publicUrl !== undefined && !isLoopbackAuthority(new URL(publicUrl).host);
  const named = publicUrl === undefined ? [] : [hostOf(new URL(publicUrl).host) ?? ""];
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  const names = [...named, ...serve.allowedHosts].map((name) => name.toLowerCase());
  const origins = [...serve.allowedOrigins.map((text) => new URL(text).origin), publicOrigin];
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
    oauth: oauth && publicUrl ? readOAuth(oauth, publicUrl) : undefined,
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

/** Settings that fit their schema, and that cannot be used or contradict each other. */
export function servingMistakes(serve: Partial<Config["serve"]>): Problem[] {
  const { publicUrl, allowedOrigins = [], oauth } = serve;
  const found: Problem[] = [];
  if (publicUrl !== undefined && !isPlain(URL.parse(publicUrl))) {
    found.push(
      unusable(["publicUrl"], publicUrl, "an address has no query and no name to sign in"),
    );
  }
  for (const [index, text] of allowedOrigins.entries()) {
    const url = URL.parse(text);
    if (url !== null && `${url.origin}/` === url.href) continue;
    const why = "an origin is such as https://app.example.com, without a path";
    found.push(unusable(["allowedOrigins", index], text, why));
  }
  if (oauth === undefined) return found;
  if (publicUrl === undefined) {
    const why = "needs 'serve.publicUrl': tokens are made out to that address";
    found.push({ path: ["oauth"], says: `${why}. Set it to where others reach this gateway` });
  }
  for (const [index, issuer] of oauth.authorizationServers.entries()) {
    if (isSafeUrl(issuer)) continue;
    const why =
      "keys are not to be fetched in clear text. Use https, or an address of this machine";
    found.push(unusable(["oauth", "authorizationServers", index], issuer, why));
  }
  return found;
}

function unusable(path: Problem["path"], value: string, why: string): Problem {
  return { path, says: `cannot be '${maskText(value)}': ${why}` };
}

function isPlain(url: URL | null): boolean {
  return (
    url !== null && [url.search, url.hash, url.username, url.password].every((it) => it === "")
  );
}

function readOAuth(oauth: NonNullable<Config["serve"]["oauth"]>, publicUrl: string): OAuth {
  const { authorizationServers, scopes = [], audience, grants, clientId } = oauth;
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

/** Whether what is fetched from there cannot be changed on the way: HTTPS, or this machine. */
export function isSafeUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null) return false;
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopbackAuthority(url.host));
}
