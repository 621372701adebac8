import { internals, type Pointer } from "./native.ts";

/** How often in a keep-alive interval a connection is looked at, and how often in vain. */
export const CHECKS = 3;
/** Milliseconds between two looks at one that we dialled while an answer is awaited. */
export const SOON = 100;
/** Looks in vain after which such a peer is quiet. */
const QUIET = 2;

/**
 * Sends a PING at intervals (RFC 9000 § 10.1.2), and knows when the peer has acknowledged none for a
 * keep-alive interval.
 */
export class Liveness {
  readonly #connection: Pointer;
  readonly #keepAlive: number;
  #acks = 0;
  #silentChecks = 0;
  #quietChecks = 0;
  #lastCounted = 0;
  #lastPing = 0;

  constructor(connection: Pointer, keepAlive: number) {
    this.#connection = connection;
    this.#keepAlive = keepAlive;
  }

  get isSilent(): boolean {
    return this.#silentChecks > CHECKS;
  }

  /** Whether it acknowledges nothing at the moment: its address or ours may have changed. */
  get isQuiet(): boolean {
    return this.#quietChecks >= QUIET;
  }

  /** True when a ping was scheduled. While an answer is awaited, each check sends one. */
  check(now: number, isWaiting: boolean): boolean {
    // OpenSSL then pings by itself, if less often, and its idle timeout is what finds the dead.
    if (internals === undefined) return false;
    const channel = internals.ossl_quic_conn_get_channel(this.#connection);
    const acks = internals.ossl_quic_channel_get_diag_num_rx_ack(channel);
    if (acks !== this.#acks) this.#silentChecks = this.#quietChecks = 0;
    else if (this.#lastPing > 0) this.#count(now);
    this.#acks = acks;
    const isDue = isWaiting || now - this.#lastPing >= this.#keepAlive;
    if (!isDue && this.#silentChecks === 0) return false;
    this.#lastPing = now;
    internals.ossl_quic_channel_ping(channel);
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
