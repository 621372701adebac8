import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";

import { TrunklineError } from "../../../base/errors.ts";

const HOST = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?$/;

/** Refuses what no certificate can be made out to. */
export function checkHosts(hosts: readonly string[]): void {
  for (const host of hosts) {
    if (HOST.test(host) || (isIP(host) !== 0 && !host.includes("%"))) continue;
    const next = "Give a name or an address, without port";
    throw new TrunklineError("usage", `No certificate can be made out to '${host}'. ${next}`);
  }
}

/** The first host that a certificate does not speak for. */
export function hostWithout(
  certificate: X509Certificate,
  hosts: readonly string[],
): string | undefined {
  return hosts.find((host) => {
    const found = isIP(host) === 0 ? byName(certificate, host) : certificate.checkIP(host);
    return found === undefined;
  });
}

function byName(certificate: X509Certificate, host: string): string | undefined {
  return certificate.checkHost(host, { subject: "never" });
}
