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
 * Whether a `Host` header, or the host of an `Origin`, is a loopback name. With DNS rebinding, a name
 * resolves to 127.0.0.1, but the header still has that name.
 */
export function isLoopbackAuthority(authority: string): boolean {
  const host = hostOf(authority);
  return host !== undefined && isLoopbackAddress(host);
}
