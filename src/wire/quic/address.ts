import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { TrunklineError } from "../../base/errors.ts";
import { ConnectionError } from "./connection-error.ts";

/** `any` is an address without a scheme: QUIC, and on this machine TLS too. */
export type Scheme = "quic" | "tls" | "any";

export interface Address {
  readonly scheme: Scheme;
  readonly host: string;
  readonly port: number;
}

const FORM = /^(?:(quic|tls):\/\/)?(?:\[([^\]]+)\]|([^:/[\]]+)):(\d{1,5})$/;

/** Reads `localhost:50100`, `quic://host:port`, `tls://[::1]:50101`. */
export function parseAddress(text: string): Address {
  const [, scheme = "any", bracketed, plain, port] = FORM.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) > 65_535) {
    const forms = "HOST:PORT, quic://HOST:PORT or tls://HOST:PORT";
    throw new TrunklineError("usage", `Cannot read the address '${text}'. Write it as ${forms}.`);
  }
  return { scheme: scheme as Scheme, host, port: Number(port) };
}

export function formatAddress({ scheme, host, port }: Address): string {
  const where = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return scheme === "any" ? where : `${scheme}://${where}`;
}

/** Whether a host is this machine, and what is sent to it never leaves it. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/i.test(host);
}

/**
 * RFC 6761 § 6.3: `localhost` is this machine, whatever a hosts file says of it. Programs that listen
 * there mostly mean IPv4, and some only IPv6.
 */
const LOOPBACK = ["127.0.0.1", "::1"];

/** The IP addresses of a host, in the order in which to try them. */
export async function resolveHost(host: string): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  if (host === "localhost") return [...LOOPBACK];
  try {
    const sorted = (await lookup(host, { all: true })).toSorted((a, b) => a.family - b.family);
    return sorted.map(({ address }) => address);
  } catch (error) {
    throw new ConnectionError(
      "refused",
      `Cannot find the host '${host}': ${(error as Error).message}. Check the address.`,
    );
  }
}
