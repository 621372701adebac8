import { type ErrorCode, TrunklineError } from "../../base/errors.ts";
import type { EndReason, QuicFailure } from "./settings.ts";

const CODES: Partial<Record<QuicFailure, ErrorCode>> = {
  timeout: "timeout",
  idle: "timeout",
  silent: "timeout",
  closed: "closed",
  reset: "closed",
  limit: "limit",
  full: "limit",
  cancelled: "cancelled",
  unusable: "config",
};

const ADVICE: Partial<Record<QuicFailure, string>> = {
  "wrong-ca": "Both sides need certificates of the same CA.",
  "no-certificate": "Give it a certificate and key of the CA that both sides trust.",
  expired: "Make a new certificate, and check the clocks of both machines.",
  "wrong-name":
    "Use a host name that is in the server's certificate, or issue it a certificate with this name.",
  "wrong-alpn": "The other side is not a plugin bus, or uses another version of its protocol.",
  refused: "Check the address, and that the other side runs.",
  timeout: "Check the address; where UDP is blocked, use tls:// on both sides.",
  engine: "It is restarted with the next connection; if it cannot run on this machine, use tls://.",
};

/** The failure of a connection or a stream, with a stable name for the reason. */
export class ConnectionError extends TrunklineError {
  readonly trouble: QuicFailure;
  /** The code that the other side gave when it closed or broke off. */
  readonly peerCode: number | undefined;

  constructor(trouble: QuicFailure, message: string, peerCode?: number) {
    super(CODES[trouble] ?? "unavailable", message);
    this.trouble = trouble;
    this.peerCode = peerCode;
  }

  /** Tells how something ended: `Cannot dial …: why. What to do.` */
  static of(what: string, { trouble, detail, code, byPeer }: EndReason): ConnectionError {
    const by = byPeer === true ? ", said by the other side" : "";
    const why = detail === "" ? (UNEXPLAINED[trouble] ?? trouble) : detail;
    const advice = ADVICE[trouble];
    const text = `${what}: ${why}${by}.${advice === undefined ? "" : ` ${advice}`}`;
    return new ConnectionError(trouble, text, byPeer === true ? code : undefined);
  }
}

const UNEXPLAINED: Partial<Record<QuicFailure, string>> = {
  closed: "it was closed",
  engine: "the QUIC engine stopped",
};

/** The failures of TLS and TCP, recognized by a part of Node's error code or message. */
const NAMES: readonly (readonly [RegExp, QuicFailure])[] = [
  [/ALTNAME_INVALID/, "wrong-name"],
  [/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID|CERTIFICATE_EXPIRED/, "expired"],
  [/UNABLE_TO_|SELF_SIGNED|UNKNOWN_CA/, "wrong-ca"],
  [/CERTIFICATE_REQUIRED|PEER_DID_NOT_RETURN/, "no-certificate"],
  [/NO_APPLICATION_PROTOCOL/, "wrong-alpn"],
  [/CERT|BAD_CERTIFICATE|INVALID_PURPOSE/, "bad-certificate"],
  [/ECONNREFUSED|ENOTFOUND/, "refused"],
  [/ETIMEDOUT|HANDSHAKE_TIMEOUT/, "timeout"],
  [/ECONN|EPIPE|EHOST|ENET/, "network"],
];

/** Why TLS failed, by our names. */
export function tlsTrouble(error: Error): QuicFailure {
  const { code = "", reason = "" } = error as Error & { code?: string; reason?: string };
  const text = `${code} ${reason} ${error.message}`;
  return NAMES.find(([pattern]) => pattern.test(text))?.[1] ?? "protocol";
}

/** Runs work with certificates, and turns OpenSSL's errors into one that names the certificates. */
export function withCertificates<T>(what: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    const detail = (error as Error).message;
    throw ConnectionError.of(`Cannot ${what}`, { trouble: "unusable", detail });
  }
}
