import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { TrunklineError } from "../../base/errors.ts";
import { ConnectionError } from "./connection-error.ts";

export type Scheme = "quic" | "tls";

export interface Address {
  readonly scheme: Scheme;
  readonly host: string;
  readonly port: number;
}

const FORM = /^(?:(quic|tls):\/\/)?(?:\[([^\]]+)\]|([^:/[\]]+)):(\d{1,5})$/;

/** Reads `localhost:50100`, `quic://host:port`, `tls://[::1]:50101`. Without a scheme, QUIC. */
export function parseAddress(text: string): Address {
  const [, scheme = "quic", bracketed, plain, port] = FORM.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) > 65_535) {
    const forms = "HOST:PORT, quic://HOST:PORT or tls://HOST:PORT";
    throw new TrunklineError("usage", `Cannot read the address '${text}'. Write it as ${forms}.`);
  }
  return { scheme: scheme as Scheme, host, port: Number(port) };
}

export function formatAddress({ scheme, host, port }: Address): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/**
 * RFC 6761 § 6.3: `localhost` is this machine, whatever a hosts file says of it. Programs that listen
 * there mostly mean IPv4, and some only IPv6.
 */
const LOOPBACK = ["127.0.0.1", "::1"];

/** The IP addresses of a host, those to try first in front. */
export async function resolveHost(host: string): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  if (host === "localhost") return [...LOOPBACK];
  try {
    const found = await lookup(host, { all: true });
    const sorted = found.toSorted((a, b) => a.family - b.family);
    return sorted.map(({ address }) => address);
  } catch (error) {
    throw new ConnectionError(
      "refused",
      `Cannot find the host '${host}': ${(error as Error).message}. Check the address.`,
    );
  }
}
