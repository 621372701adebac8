import { TrunklineError } from "../../../base/errors.ts";
import { hostFits } from "../../../base/host-pattern.ts";
import { isLoopbackAddress } from "../../access/refuse-foreign.ts";
import type { NotifyEntry } from "../entries.ts";

/**
 * The push services of the browsers: Chrome and its relatives, Firefox, Edge, Safari. A page can name any
 * endpoint, and we would send requests there.
 */
const KNOWN = [
  "fcm.googleapis.com",
  "*.push.services.mozilla.com",
  "*.notify.windows.com",
  "*.push.apple.com",
] as const;

/** The endpoint of a subscription. Throws "untrusted" if it is not at a push service that may be used. */
export function readEndpoint(
  endpoint: string,
  entries: readonly Pick<NotifyEntry, "allowHosts" | "allowPrivate">[],
): URL {
  const url = URL.parse(endpoint);
  if (url === null || url.username !== "" || url.password !== "" || endpoint.length > 2048) {
    throw new TrunklineError("usage", "The endpoint of the subscription is not an address.");
  }
  const allowed = [...KNOWN, ...entries.flatMap(({ allowHosts }) => allowHosts)];
  const { hostname: host, protocol } = url;
  if (!allowed.some((pattern) => hostFits(pattern, host))) {
    const next = `Add it to \`allowHosts\` of the notification if you trust it`;
    throw new TrunklineError("untrusted", `'${host}' is not a known push service. ${next}.`);
  }
  const isPrivate = entries.some(({ allowPrivate }) => allowPrivate);
  if (protocol === "https:" || (protocol === "http:" && isPrivate && isLoopbackAddress(host))) {
    return url;
  }
  throw new TrunklineError("untrusted", "The endpoint of a push service must begin with https.");
}
