import type { IncomingMessage } from "node:http";

/** RFC 9110, section 15.4: these keep the method and the body. */
const KEEPS_METHOD: ReadonlySet<number> = new Set([307, 308]);
/** These make a GET of a POST, which would lose the message. */
const MAKES_GET: ReadonlySet<number> = new Set([301, 302, 303]);

/**
 * Where a response redirects to, when that is to be followed; in words that complete "it …" when it
 * is not, and undefined when it is no redirection.
 *
 * Only the same origin is followed: what we are configured to tell one server, headers with secrets
 * included, is not for another. The same host under https is another origin, too; whoever configured
 * http is told, since the message has been sent in the clear by then.
 */
export function redirection(
  from: URL,
  { statusCode = 0, headers: { location } }: Pick<IncomingMessage, "statusCode" | "headers">,
  method: string,
): URL | string | undefined {
  const isGet = MAKES_GET.has(statusCode);
  if (!isGet && !KEEPS_METHOD.has(statusCode)) return undefined;
  const to = location === undefined ? null : URL.parse(location, from);
  if (to === null) return `answered ${statusCode} without saying where to`;
  const shown = shownAddress(to);
  if (to.origin !== from.origin) {
    return `redirects to ${shown}, which is another server: configure that address if you trust it`;
  }
  if (isGet && method !== "GET") {
    return `answered ${statusCode} with ${shown}, which cannot be posted to: configure that address`;
  }
  // Credentials in an address are the configuration's to give.
  to.username = from.username;
  to.password = from.password;
  return to;
}

/** An address for people, without what may be a key: references to secrets may stand anywhere in a url. */
export function shownAddress({ origin, pathname }: URL): string {
  return origin + pathname.replace(/[^/]{16,}/g, "…");
}
