import type { NativeConnection } from "./native-connection.ts";

/**
 * Most bytes of one connection that OpenSSL holds until the peer acknowledges them. OpenSSL itself
 * has no limit, and would keep everything for a peer that reads nothing.
 */
const MOST_UNDER_WAY = 4 * 1024 * 1024;

/** A stream with something to send. */
export interface Sender {
  /** Counts anew what of it is under way. */
  recount(): void;
  /** There is room to go on. */
  resume(): void;
}

/** How much of what a connection is to send is under way or waits for that. */
export class SendWindow {
  readonly #changed: (bytes: number) => void;
  /** Streams with bytes under way. */
  readonly #senders = new Set<Sender>();
  readonly #waiting = new Set<Sender>();
  #underWay = 0;
  #held = 0;

  /** `changed` is told how many more bytes there are, or fewer. */
  constructor(changed: (bytes: number) => void) {
    this.#changed = changed;
  }

  /** All that there is, under way or not. */
  get size(): number {
    return this.#underWay + this.#held;
  }

  get hasRoom(): boolean {
    return this.#underWay < MOST_UNDER_WAY;
  }

  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** So many more bytes are under way, or fewer; of a stream, if that has not ended. */
  move(bytes: number, sender?: Sender): void {
    if (bytes > 0 && sender !== undefined) this.#senders.add(sender);
    this.#underWay += bytes;
    this.#changed(bytes);
  }

  /** So many more bytes wait, or fewer. */
  hold(bytes: number): void {
    this.#held += bytes;
    this.#changed(bytes);
  }

  /** Has the stream go on when there is room. */
  await(sender: Sender): void {
    this.#waiting.add(sender);
  }

  forget(sender: Sender): void {
    this.#senders.delete(sender);
    this.#waiting.delete(sender);
  }

  /** Looks what has arrived, and lets those go on that wait for room. Returns whether one could. */
  advance(): boolean {
    for (const sender of this.#senders) sender.recount();
    const hadRoom = this.hasRoom;
    for (const sender of [...this.#waiting]) {
      if (!this.hasRoom) break;
      this.#waiting.delete(sender);
      sender.resume();
    }
    return hadRoom;
  }
}

/** Bytes of all connections that wait to be sent or to arrive. */
const MOST = 256 * 1024 * 1024;

/**
 * Counts what all connections have to send. Above the limit, the largest connection of the peer with
 * the most unsent bytes is closed: a peer that opens many connections and reads none pays for that.
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
