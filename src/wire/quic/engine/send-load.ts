import type { NativeConnection } from "./native-connection.ts";

/** Bytes of all connections that wait to be sent or to arrive. */
const MOST = 256 * 1024 * 1024;

/**
 * How much all connections have to send. When it is too much, one of the peer's that has most of it
 * is given up: who opens many connections and reads nothing of them has it for itself.
 */
export class SendLoad {
  readonly #giveUp: (connection: NativeConnection) => void;
  readonly #most: number;
  readonly #connections = new Set<NativeConnection>();
  #size = 0;

  constructor(giveUp: (connection: NativeConnection) => void, most = MOST) {
    this.#giveUp = giveUp;
    this.#most = most;
  }

  change(connection: NativeConnection, bytes: number): void {
    this.#size += bytes;
    if (connection.window.size === 0) this.#connections.delete(connection);
    else this.#connections.add(connection);
    if (bytes > 0 && this.#size > this.#most) this.#giveUp(this.#largest());
  }

  #largest(): NativeConnection {
    const peers = Map.groupBy(this.#connections, ({ peer }) => peer);
    const sizeOf = (all: readonly NativeConnection[]): number =>
      all.reduce((sum, { window }) => sum + window.size, 0);
    const [worst = []] = [...peers.values()].toSorted((a, b) => sizeOf(b) - sizeOf(a));
    const [largest] = worst.toSorted((a, b) => b.window.size - a.window.size);
    if (largest === undefined) throw new Error("Nothing is to be sent, and yet too much");
    return largest;
  }
}
