import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import type { Connection, ListenOptions, PeerCertificate } from "./connection.ts";
import { background } from "../../base/background.ts";

export function readPeerCertificate(der: Buffer): PeerCertificate {
  const certificate = new X509Certificate(der);
  return {
    name: /^CN=(.*)$/m.exec(certificate.subject)?.[1] ?? "",
    unit: /^OU=(.*)$/m.exec(certificate.subject)?.[1],
    names: alternativeNames(certificate),
    fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
    certificate,
  };
}

/** Who showed a certificate over TLS. */
export function peerOf(socket: TLSSocket): PeerCertificate | undefined {
  const certificate = socket.getPeerX509Certificate();
  return certificate === undefined ? undefined : readPeerCertificate(certificate.raw);
}

/** `DNS:localhost, IP Address:127.0.0.1` → the names alone. */
function alternativeNames(certificate: X509Certificate): string[] {
  return (certificate.subjectAltName ?? "")
    .split(", ")
    .map((entry) => /^(?:DNS|IP Address):(.+)$/.exec(entry)?.[1] ?? "")
    .filter((name) => name !== "");
}

/** How many connections each peer has, by the name in its certificate. */
export class PeerCount {
  readonly #most: ListenOptions["mostOfPeer"];
  readonly #counts = new Map<string, number>();

  constructor(most: ListenOptions["mostOfPeer"]) {
    this.#most = most;
  }

  /** Counts a connection for as long as it lasts. False, and it does not count, if it is one too many. */
  add(connection: Connection): boolean {
    const { peer } = connection;
    const most = peer === undefined ? undefined : this.#most?.(peer);
    if (peer === undefined || most === undefined) return true;
    const { name } = peer;
    const count = this.#counts.get(name) ?? 0;
    if (count >= most) return false;
    this.#counts.set(name, count + 1);
    background(
      connection.closed.then(() => this.#remove(name)),
      "Counting connections",
    );
    return true;
  }

  #remove(name: string): void {
    const count = (this.#counts.get(name) ?? 1) - 1;
    if (count === 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }
}
