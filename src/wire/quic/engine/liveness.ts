import { type Pointer } from "../../../base/process/ffi.ts";
import { internals } from "./native.ts";

/** How often in a keep-alive interval a connection is looked at, and how often in vain. */
export const CHECKS = 3;
/** Milliseconds between two looks at one that we dialled while an answer is awaited. */
export const SOON = 100;
/** Looks in vain after which such a peer is quiet. */
const QUIET = 2;

/** What a connection knows of its peer's acknowledgements, and how it asks for one. */
export interface Pings {
  /** How many have come. */
  acks(): number;
  ping(): void;
}

/** Those of OpenSSL; undefined where it does not tell. */
export function pingsOf(connection: Pointer): Pings | undefined {
  if (internals === undefined) return undefined;
  const { ossl_quic_conn_get_channel: channelOf, ...channel } = internals;
  return {
    acks: () => channel.ossl_quic_channel_get_diag_num_rx_ack(channelOf(connection)),
    ping: () => channel.ossl_quic_channel_ping(channelOf(connection)),
  };
}

/**
 * Sends a PING at intervals (RFC 9000 § 10.1.2), and knows when nothing has come from the peer for a
 * keep-alive interval: no acknowledgement, and no data. One that sends much may acknowledge little.
 */
export class Liveness {
  readonly #pings: Pings | undefined;
  readonly #keepAlive: number;
  #isHeard = false;
  #acks = 0;
  #silentChecks = 0;
  #quietChecks = 0;
  #lastCounted = 0;
  #lastPing = 0;

  constructor(pings: Pings | undefined, keepAlive: number) {
    this.#pings = pings;
    this.#keepAlive = keepAlive;
  }

  /** Data has come. */
  heard(): void {
    this.#isHeard = true;
  }

  get isSilent(): boolean {
    return this.#silentChecks > CHECKS;
  }

  /** Whether nothing comes from it at the moment: its address or ours may have changed. */
  get isQuiet(): boolean {
    return this.#quietChecks >= QUIET;
  }

  /** True when a ping was scheduled. While an answer is awaited, each check sends one. */
  check(now: number, isWaiting: boolean): boolean {
    // OpenSSL then pings by itself, if less often, and its idle timeout is what finds the dead.
    if (this.#pings === undefined) return false;
    const acks = this.#pings.acks();
    if (acks !== this.#acks || this.#isHeard) this.#silentChecks = this.#quietChecks = 0;
    else if (this.#lastPing > 0) this.#count(now);
    this.#acks = acks;
    this.#isHeard = false;
    const isDue = isWaiting || now - this.#lastPing >= this.#keepAlive;
    if (!isDue && this.#silentChecks === 0) return false;
    this.#lastPing = now;
    this.#pings.ping();
    return true;
  }

  #count(now: number): void {
    this.#quietChecks += 1;
    // Those that come sooner than usual do not make a peer silent sooner.
    if (now - this.#lastCounted < (this.#keepAlive / CHECKS) * 0.9) return;
    this.#lastCounted = now;
    this.#silentChecks += 1;
  }
}
