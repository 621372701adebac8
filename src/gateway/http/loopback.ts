import { isIP } from "node:net";

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
 * Whether a `Host` header, or the host of an `Origin`, means this machine. A page from elsewhere
 * whose name was made to point at 127.0.0.1 still says its own name here.
 */
export function isLoopbackAuthority(authority: string): boolean {
  const host = hostOf(authority);
  return host !== undefined && isLoopbackAddress(host);
}
