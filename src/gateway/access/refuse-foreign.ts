import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";

import { hostOf, isLoopbackAddress, isLoopbackAuthority } from "../loopback.ts";

/** Who can reach a server, and by what names. */
export interface Reach {
  /** It listens where only this machine can connect. */
  readonly isLoopback: boolean;
  /** What `Host` may say besides this machine's names. */
  readonly hosts: ReadonlySet<string>;
  /** Where pages may come from. */
  readonly origins: ReadonlySet<string>;
}

/**
 * Why a request may not come in, whoever sends it, or nothing. A page in a browser can have any
 * name point at any address, but it cannot say another name than its own.
 */
export function refuseForeign(headers: IncomingHttpHeaders, reach: Reach): string | undefined {
  const { host = "", origin } = headers;
  if (!isOurs(host, reach)) return `Host '${host}' is not this machine`;
  if (origin === undefined || mayCome(origin, host, reach)) return undefined;
  return `Origin '${origin}' is not allowed`;
}

/** Whether a `Host` header may stand for this server. */
function isOurs(authority: string, { isLoopback, hosts }: Reach): boolean {
  const host = hostOf(authority);
  if (host === undefined) return false;
  if (isLoopbackAddress(host) || hosts.has(host)) return true;
  // A number is no name that could have been pointed here.
  return !isLoopback && isIP(host) !== 0;
}

function mayCome(origin: string, host: string, { isLoopback, origins }: Reach): boolean {
  const url = URL.parse(origin);
  // A browser sends an origin as it is written shortest; anything else was made up.
  if (url === null || url.origin !== origin) return false;
  if (origins.has(origin) || url.host === host.toLowerCase()) return true;
  return isLoopback && isLoopbackAuthority(url.host);
}

const FORWARDED = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"] as const;

/** Whether a request speaks for itself as one of this machine, on an address that only it has. */
export function isLocal(headers: IncomingHttpHeaders): boolean {
  // Whoever it came for, a proxy on this machine passed it on.
  if (FORWARDED.some((name) => headers[name] !== undefined)) return false;
  return isLoopbackAuthority(headers.host ?? "");
}
