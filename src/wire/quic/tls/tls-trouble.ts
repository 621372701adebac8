import { ConnectionError } from "../connection-error.ts";
import type { Trouble } from "../settings.ts";

/** What Node calls the ways in which TLS and TCP fail, by a part of its name. */
const NAMES: readonly (readonly [RegExp, Trouble])[] = [
  [/ALTNAME_INVALID/, "wrong-name"],
  [/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID|CERTIFICATE_EXPIRED/, "expired"],
  [/UNABLE_TO_|SELF_SIGNED|UNKNOWN_CA/, "wrong-ca"],
  [/CERTIFICATE_REQUIRED|PEER_DID_NOT_RETURN/, "no-certificate"],
  [/NO_APPLICATION_PROTOCOL/, "wrong-alpn"],
  [/CERT|BAD_CERTIFICATE|INVALID_PURPOSE/, "bad-certificate"],
  [/ECONNREFUSED|ENOTFOUND/, "refused"],
  [/ETIMEDOUT/, "timeout"],
  [/ECONN|EPIPE|EHOST|ENET/, "network"],
];

/** Why TLS failed, by our names. */
export function tlsTrouble(error: Error): Trouble {
  const { code = "", reason = "" } = error as Error & { code?: string; reason?: string };
  const text = `${code} ${reason} ${error.message}`;
  return NAMES.find(([pattern]) => pattern.test(text))?.[1] ?? "protocol";
}

/** Does something with certificates; if they are of no use, says so. */
export function withCertificates<T>(what: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    const detail = (error as Error).message;
    throw ConnectionError.of(`Cannot ${what}`, { trouble: "unusable", detail });
  }
}
