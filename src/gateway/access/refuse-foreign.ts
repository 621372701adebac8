import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";

import { hostOf, isLoopbackAddress, isLoopbackAuthority } from "../http/loopback.ts";

/** Who can reach a server, and by what names. */
export interface Reach {
  /** It listens where only this machine can connect. */
  readonly isLoopback: boolean;
  /** What `Host` may say besides this machine's names. */
  readonly hosts: ReadonlySet<string>;
  /** Where pages may come from besides the server itself. */
  readonly origins: ReadonlySet<string>;
}

/** How a server is reached itself: what makes up its own origin, beside its name. */
export interface OwnAddress {
  readonly scheme: "http" | "https";
  readonly port: number;
}

export interface ForeignRefusal {
  readonly status: 400 | 403;
  readonly message: string;
}

/** What says who asks, and from where. Two programs may each go by another of two. */
const ONLY_ONCE = ["host", "origin", "authorization", "sec-fetch-site"];
/** By their lengths, which differ: this is looked at for every header of every request. */
const BY_LENGTH = ONLY_ONCE.reduce<string[]>((table, name) => {
  table[name.length] = name;
  return table;
}, []);

/**
 * Why a request may not come in, whoever sends it, or nothing. A page in a browser can have any
 * name point at any address, but it cannot say another name than its own.
 */
export function refuseForeign(
  { headers, rawHeaders }: Pick<IncomingMessage, "headers" | "rawHeaders">,
  reach: Reach,
  own: OwnAddress,
): ForeignRefusal | undefined {
  const twice = headerTwice(rawHeaders);
  if (twice !== undefined) return { status: 400, message: `Send one ${twice} header, not several` };
  const { host = "", origin } = headers;
  if (!isOurs(host, reach)) return refuse(`Host '${host}' is not this machine`);
  if (origin !== undefined && !reach.origins.has(origin) && !isOwnOrigin(origin, host, own)) {
    return refuse(
      `Origin '${origin}' is not allowed. Pages of other origins, also of other ports, have to be named in \`serve.allowedOrigins\``,
    );
  }
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return undefined;
  // A page that was named in the configuration is foreign by nature; its browser says which it is.
  if (origin !== undefined && reach.origins.has(origin)) return undefined;
  return refuse(
    `A page of another origin (Sec-Fetch-Site: ${site}) may not use this server. To open it, type its address or run \`trunkline open\``,
  );
}

function refuse(message: string): ForeignRefusal {
  return { status: 403, message };
}

function headerTwice(rawHeaders: readonly string[]): string | undefined {
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    const known = BY_LENGTH[name.length];
    if (known === undefined || known !== name.toLowerCase()) continue;
    const bit = 1 << known.length;
    if ((seen & bit) !== 0) return known;
    seen |= bit;
  }
  return undefined;
}

/** Whether a `Host` header may stand for this server. */
function isOurs(authority: string, { isLoopback, hosts }: Reach): boolean {
  const host = hostOf(authority);
  if (host === undefined) return false;
  if (isLoopbackAddress(host) || hosts.has(host)) return true;
  // A number is no name that could have been pointed here.
  return !isLoopback && isIP(host) !== 0;
}

/**
 * Whether an origin is that of this server, by the name that the request says: scheme, name and
 * port. Whoever listens on another port of the same machine may be anybody.
 */
export function isOwnOrigin(origin: string, host: string, { scheme, port }: OwnAddress): boolean {
  const url = URL.parse(origin);
  // A browser sends an origin as it is written shortest; anything else was made up.
  if (url === null || url.origin !== origin || url.protocol !== `${scheme}:`) return false;
  const own = URL.parse(`${scheme}://${host}`);
  const usual = scheme === "https" ? 443 : 80;
  return url.host === own?.host && Number(url.port || usual) === port;
}

const FORWARDED = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"] as const;

/** Whether a request speaks for itself as one of this machine, on an address that only it has. */
export function isLocal(headers: IncomingHttpHeaders): boolean {
  // Whoever it came for, a proxy on this machine passed it on.
  if (FORWARDED.some((name) => headers[name] !== undefined)) return false;
  return isLoopbackAuthority(headers.host ?? "");
}

const METHODS = "GET, POST, DELETE";
const EXPOSED = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After";
/** Headers that a page may send. Those of arguments (`Mcp-Param-…`) are as the tools name them. */
const TAKEN = /^(?:accept|authorization|content-type|last-event-id|mcp-[a-z0-9-]{1,128})$/;
/** How long a browser may go by an answer, in seconds. */
const MAX_AGE = "600";

/** Lets a page read the answer whose origin was found to be allowed. */
export function allowOrigin({ headers }: IncomingMessage, response: ServerResponse): void {
  const { origin } = headers;
  if (origin === undefined) return;
  response.setHeader("vary", "Origin");
  // Never `*`, and nothing is said of credentials: a page has to have the token itself.
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", EXPOSED);
}

/** Answers a browser that asks whether it may send a page's request. Returns whether it did ask. */
export function answerPreflight({ method, headers }: IncomingMessage, response: ServerResponse) {
  const wanted = headers["access-control-request-method"];
  if (method !== "OPTIONS" || headers.origin === undefined || wanted === undefined) return false;
  const names = (headers["access-control-request-headers"] ?? "").toLowerCase().split(",");
  const taken = names.map((name) => name.trim()).filter((name) => TAKEN.test(name));
  response.writeHead(204, {
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": taken.join(", "),
    "access-control-max-age": MAX_AGE,
  });
  response.end();
  return true;
}
