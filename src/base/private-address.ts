import type { BlockList } from "node:net";
import { addressBytes } from "./address.ts";

/** Ranges of the IANA special-purpose registries (RFC 6890) that do not lead to the public internet. */
const PRIVATE_V4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const;

const PRIVATE_V6 = [
  ["::", 96],
  ["64:ff9b:1::", 48],
  ["100::", 64],
  ["2001::", 23],
  ["2001:db8::", 32],
  ["3fff::", 20],
  ["5f00::", 16],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
] as const;

/** Prefixes of IPv6 that an address of IPv4 follows (RFC 4291, 6052, 3056). */
const CARRIERS = [
  addressBytes("::ffff:0:0").subarray(0, 12),
  addressBytes("64:ff9b::").subarray(0, 12),
  addressBytes("2002::").subarray(0, 2),
];

/** Networks that people have at home and at work. No cloud has its metadata service in them. */
const NETWORKS = [
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
] as const;

/**
 * Whether an address is that of another machine, public or in a private network. This machine's own addresses
 * are not, nor are link-local addresses and metadata services.
 */
export function isOtherMachine(address: string): boolean {
  if (isOwnAddress(address)) return false;
  if (!isPrivateAddress(address)) return true;
  const net = process.getBuiltinModule("node:net");
  const networks = new net.BlockList();
  for (const [network, bits] of NETWORKS) networks.addSubnet(network, bits, "ipv4");
  return net.isIPv4(address) && networks.check(address, "ipv4");
}

/** Whether an address is one of this machine's, or carries one. */
export function isOwnAddress(address: string): boolean {
  const [bare = ""] = address.split("%");
  const carried = carriedBy(bare);
  if (carried !== undefined) return isOwnAddress(carried);
  if (bare.startsWith("127.") || bare === "::1") return true;
  const { networkInterfaces } = process.getBuiltinModule("node:os");
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return own.some((each) => each.address === bare);
}

/** Whether a URL names this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

let blocked: BlockList | undefined;

/**
 * Whether an address leads to this machine, to its own network, or nowhere: loopback, private,
 * link-local, metadata services, multicast, and addresses of IPv6 that carry one of those. Text that
 * is no address counts as private, so that it is never taken for public.
 */
export function isPrivateAddress(address: string): boolean {
  const { isIPv4, isIPv6 } = process.getBuiltinModule("node:net");
  const [bare = ""] = address.split("%");
  if (isIPv4(bare)) return list().check(bare, "ipv4");
  if (!isIPv6(bare)) return true;
  const carried = carriedBy(bare);
  return carried === undefined ? list().check(bare, "ipv6") : isPrivateAddress(carried);
}

/** The address of IPv4 that one of IPv6 carries; undefined where it carries none. */
function carriedBy(address: string): string | undefined {
  if (!process.getBuiltinModule("node:net").isIPv6(address)) return undefined;
  const bytes = addressBytes(address);
  const prefix = CARRIERS.find((each) => each.equals(bytes.subarray(0, each.length)));
  if (prefix === undefined) return undefined;
  return bytes.subarray(prefix.length, prefix.length + 4).join(".");
}

function list(): BlockList {
  if (blocked !== undefined) return blocked;
  const net = process.getBuiltinModule("node:net");
  blocked = new net.BlockList();
  for (const [address, bits] of PRIVATE_V4) blocked.addSubnet(address, bits, "ipv4");
  for (const [address, bits] of PRIVATE_V6) blocked.addSubnet(address, bits, "ipv6");
  return blocked;
}
