import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import type { PeerCertificate } from "./connection.ts";

export function readPeerCertificate(der: Buffer): PeerCertificate {
  const certificate = new X509Certificate(der);
  return {
    name: /^CN=(.*)$/m.exec(certificate.subject)?.[1] ?? "",
    unit: /^OU=(.*)$/m.exec(certificate.subject)?.[1],
    fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
  };
}

/** Who showed a certificate over TLS. */
export function peerOf(socket: TLSSocket): PeerCertificate | undefined {
  const certificate = socket.getPeerX509Certificate();
  return certificate === undefined ? undefined : readPeerCertificate(certificate.raw);
}
