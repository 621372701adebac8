import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import type { PeerCertificate } from "./connection.ts";

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
