import type { IncomingMessage, RequestOptions } from "node:http";
import type * as Https from "node:https";
import type { LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";

import { isPrivateAddress } from "./private-address.ts";

export interface PublicLookupOptions {
  /** The error for an address that may not be reached. */
  readonly refuse: (address: string) => Error;
  /** Which addresses may not be reached; private ones by default. */
  readonly forbids?: ((address: string) => boolean) | undefined;
  /** Resolves a name; by default as the system does. */
  readonly resolve?: AddressResolver | undefined;
}

export type AddressResolver = (
  host: string,
  found: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Resolves the name of a connection, and refuses it if one of its addresses is private. The connection
 * is made to the address that was checked, so a second answer of the DNS cannot lead elsewhere.
 */
export function publicLookup(options: PublicLookupOptions): LookupFunction {
  const { refuse, forbids = isPrivateAddress, resolve = addressesOf } = options;
  return (host, { all }, callback) => {
    resolve(host, (error, addresses) => {
      const inside = addresses?.find(({ address }) => forbids(address));
      const [first] = addresses ?? [];
      if (error !== null) callback(error, "", 4);
      else if (inside !== undefined) callback(refuse(inside.address), "", 4);
      else if (first === undefined) callback(new Error(`'${host}' has no address`), "", 4);
      else if (all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** Connects to addresses that were checked: a second lookup could return others. */
export function lookupAmong(addresses: readonly string[]): LookupFunction {
  const { isIPv6 } = process.getBuiltinModule("node:net");
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_host, { all }, callback) => {
    const [first] = found;
    if (all === true) callback(null, found);
    else if (first !== undefined) callback(null, first.address, first.family);
    else callback(new Error("it has no address"), "", 4);
  };
}

/** Refuses a URL whose host is an address that may not be reached: such a host is never looked up. */
export function refusePrivate(url: URL, options: PublicLookupOptions): void {
  const { isIP } = process.getBuiltinModule("node:net");
  const { refuse, forbids = isPrivateAddress } = options;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && forbids(host)) throw refuse(host);
}

const addressesOf: AddressResolver = (host, found) => {
  process.getBuiltinModule("node:dns").lookup(host, { all: true }, found);
};

/** Node's client for a URL. An import of node:http would load Node's client of WebSockets, too. */
export function clientFor({ protocol }: URL): Pick<typeof Https, "request"> {
  return process.getBuiltinModule(protocol === "http:" ? "node:http" : "node:https");
}

/** Sends a request. Resolves to the answer once its head is there. */
export function ask(url: URL, options: RequestOptions, body?: Buffer): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    clientFor(url).request(url, options, resolve).on("error", reject).end(body);
  });
}
