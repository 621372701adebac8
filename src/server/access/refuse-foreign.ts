import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";

/** From where and under which names a server can be reached. */
export interface Reachability {
  /** It listens where only this machine can connect. */
  readonly isLoopback: boolean;
  /** Values of `Host` in addition to this machine's names. */
  readonly hosts: ReadonlySet<string>;
  /** Origins of pages in addition to the server's own. */
  readonly origins: ReadonlySet<string>;
}

/** The parts of a server's own origin beside its name. */
export interface OwnAddress {
  readonly scheme: "http" | "https";
  readonly port: number;
}

export interface ForeignRefusal {
  readonly status: 400 | 403;
  readonly message: string;
  /** Somebody followed a link on another website: a page may show itself anew (`open-page.ts`). */
  readonly isLink?: true;
}

/**
 * Headers that may come once only: given two, a proxy and this server might each believe another.
 */
const ONLY_ONCE = ["host", "origin", "authorization", "sec-fetch-site"];

/**
 * Why a request is refused whatever token it has; undefined where it is not. Protects against DNS
 * rebinding (MCP 2025-11-25, basic/transports, "Security Warning"): a web page can make its name
 * resolve to any address, but its browser sends the page's own name in `Host` and `Origin`.
 */
export function refuseForeign(
  request: Pick<IncomingMessage, "headers" | "rawHeaders" | "method" | "url">,
  reach: Reachability,
  own: OwnAddress,
): ForeignRefusal | undefined {
  const { headers, rawHeaders } = request;
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
  // An allowed origin is cross-site by nature, so `sec-fetch-site` says nothing against it.
  if (origin !== undefined && reach.origins.has(origin)) return undefined;
  const refusal = refuse(
    `A page of another origin (Sec-Fetch-Site: ${site}) may not use this server. To open it, type its address or run \`trunkline open\``,
  );
  return isLink(request) ? { ...refusal, isLink: true } : refusal;
}

/**
 * Whether a browser opens the address in a tab of its own, as a link does. A frame has another
 * destination, a script another mode; a form sends a POST or a query.
 */
function isLink({ method, url, headers }: Pick<IncomingMessage, "headers" | "method" | "url">) {
  return (
    method === "GET" &&
    headers["sec-fetch-mode"] === "navigate" &&
    headers["sec-fetch-dest"] === "document" &&
    headers.origin === undefined &&
    url?.includes("?") !== true
  );
}

function refuse(message: string): ForeignRefusal {
  return { status: 403, message };
}

function headerTwice(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? "";
    if (!ONLY_ONCE.includes(name)) continue;
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}

/** Whether a `Host` header may stand for this server. */
function isOurs(authority: string, { isLoopback, hosts }: Reachability): boolean {
  const host = hostOf(authority);
  if (host === undefined) return false;
  if (isLoopbackAddress(host) || hosts.has(host)) return true;
  // An IP address cannot be rebound to another.
  return !isLoopback && isIP(host) !== 0;
}

/**
 * Whether an origin is this server's: scheme, the name in `Host`, and port. The port matters, since
 * a server on another port of the same machine may belong to anybody.
 */
export function isOwnOrigin(origin: string, host: string, { scheme, port }: OwnAddress): boolean {
  const url = URL.parse(origin);
  // RFC 6454, section 6.2: browsers send the canonical form; any other was not sent by one.
  if (url === null || url.origin !== origin || url.protocol !== `${scheme}:`) return false;
  const own = URL.parse(`${scheme}://${host}`);
  const usual = scheme === "https" ? 443 : 80;
  return url.host === own?.host && Number(url.port || usual) === port;
}

const FORWARDED = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"] as const;

/** Whether a request comes from this machine directly, not through a proxy. */
export function isLocal(headers: IncomingHttpHeaders): boolean {
  // A proxy on this machine has forwarded it for somebody.
  if (FORWARDED.some((name) => headers[name] !== undefined)) return false;
  return isLoopbackAuthority(headers.host ?? "");
}

const METHODS = "GET, POST, DELETE";
const EXPOSED = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After";
/** Headers that a page may send. Tools name those of their arguments (`Mcp-Param-…`). */
const TAKEN = /^(?:accept|authorization|content-type|last-event-id|mcp-[a-z0-9-]{1,128})$/;
/** Seconds for which a browser may cache the answer to a preflight. */
const MAX_AGE = "600";

/**
 * Sets CORS headers for a page whose origin is allowed, and answers its preflight. False where the
 * request is none, and has still to be answered.
 */
export function answerPreflight(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
): boolean {
  const { origin } = headers;
  if (origin === undefined) return false;
  response.setHeader("vary", "Origin");
  // Never `*`, and no `access-control-allow-credentials`: the page has to send the token itself.
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", EXPOSED);
  const wanted = headers["access-control-request-method"];
  if (method !== "OPTIONS" || wanted === undefined) return false;
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

/** Whether an address to listen on can be reached from this machine only. */
export function isLoopbackAddress(host: string): boolean {
  if (host === "localhost" || host === "::1") return true;
  return isIP(host) === 4 && host.startsWith("127.");
}

const AUTHORITY = /^(?:\[(?<literal>[0-9a-f:.]+)\]|(?<name>[^[\]:/?#@\\\s]+))(?::\d{0,5})?$/i;

/** The host of a `Host` header or of a URL, in small letters and without its port. */
export function hostOf(authority: string): string | undefined {
  const { literal, name } = AUTHORITY.exec(authority)?.groups ?? {};
  return (literal ?? name)?.toLowerCase();
}

/**
 * Whether a `Host` header, or the host of an `Origin`, is a loopback name. With DNS rebinding, a name
 * resolves to 127.0.0.1, but the header still has that name.
 */
export function isLoopbackAuthority(authority: string): boolean {
  const host = hostOf(authority);
  return host !== undefined && isLoopbackAddress(host);
}
