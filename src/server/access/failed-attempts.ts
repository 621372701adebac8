import { isIPv6 } from "node:net";

/** Wrong tokens that one address may send in a window. */
const LIMIT = 20;
const WINDOW = 60_000;
/** Addresses that are remembered; beyond that, those that began longest ago are forgotten. */
const MOST = 10_000;

/** How often each address has sent a wrong token lately. */
export class FailedAttempts {
  readonly #now: () => number;
  /** In the order in which their windows began. */
  readonly #addresses = new Map<string, { count: number; readonly until: number }>();

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get size(): number {
    return this.#addresses.size;
  }

  /** Seconds until an address may try again; 0 when it may. */
  wait(address: string): number {
    const known = this.#addresses.get(keyOf(address));
    if (known === undefined || known.count < LIMIT) return 0;
    return Math.max(0, Math.ceil((known.until - this.#now()) / 1000));
  }

  /** Counts one that failed. Returns how many there were in this window. */
  add(address: string): number {
    const now = this.#now();
    for (const [key, { until }] of this.#addresses) {
      if (until > now && this.#addresses.size < MOST) break;
      this.#addresses.delete(key);
    }
    const key = keyOf(address);
    const known = this.#addresses.get(key);
    if (known !== undefined) return ++known.count;
    this.#addresses.set(key, { count: 1, until: now + WINDOW });
    return 1;
  }
}

/** RFC 4291, section 2.5.1: a network has 64 bits of addresses, so IPv6 is counted by network. */
function keyOf(address: string): string {
  if (!isIPv6(address) || address.includes(".")) return address;
  const [head = "", tail] = address.split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => "0");
  return [...front, ...(tail === undefined ? [] : zeros), ...back].slice(0, 4).join(":");
}
