import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";

/** Whether an address to listen on can be reached from this machine only. */
export function isLoopbackAddress(host: string): boolean {
  if (host === "localhost" || host === "::1") return true;
  return isIP(host) === 4 && host.startsWith("127.");
}

/**
 * Whether a `Host` header, or the host of an `Origin`, means this machine. A page from elsewhere
 * whose name was made to point at 127.0.0.1 still says its own name here.
 */
export function isLoopbackAuthority(authority: string): boolean {
  const host = authority.startsWith("[")
    ? authority.slice(1, authority.indexOf("]"))
    : authority.replace(/:\d*$/, "");
  return isLoopbackAddress(host.toLowerCase());
}

/** Why a request may not come in, or nothing. */
export function refuseForeign(headers: IncomingHttpHeaders): string | undefined {
  const { host, origin } = headers;
  if (host === undefined || !isLoopbackAuthority(host)) {
    return `Host '${host ?? ""}' is not this machine`;
  }
  if (origin === undefined) return undefined;
  const url = URL.parse(origin);
  if (url === null || !isLoopbackAuthority(url.host)) return `Origin '${origin}' is not allowed`;
  return undefined;
}
