import { NULL, addressOf, pinnedBuffer, type Pointer } from "../../../base/process/ffi.ts";
import { internals, native } from "./native.ts";

/**
 * Most bytes of one connection that OpenSSL holds until the peer acknowledges them. OpenSSL itself
 * has no limit, and would keep everything for a peer that reads nothing.
 */
const MOST_UNDER_WAY = 4 * 1024 * 1024;

/** A stream with something to send. */
export interface Sender {
  /** Counts its bytes in flight again. */
  recount(): void;
  /** There is room to go on. */
  resume(): void;
}

/** Counts the bytes of a connection that are in flight, and those that wait to be sent. */
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

  /** Bytes in flight and bytes that wait. */
  get size(): number {
    return this.#underWay + this.#held;
  }

  get hasRoom(): boolean {
    return this.#underWay < MOST_UNDER_WAY;
  }

  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Adds bytes in flight (negative: removes them), of a stream unless it has ended. */
  move(bytes: number, sender?: Sender): void {
    if (bytes > 0 && sender !== undefined) this.#senders.add(sender);
    this.#underWay += bytes;
    this.#changed(bytes);
  }

  /** Adds bytes that wait (negative: removes them). */
  hold(bytes: number): void {
    this.#held += bytes;
    this.#changed(bytes);
  }

  /** Resumes the stream when there is room. */
  await(sender: Sender): void {
    this.#waiting.add(sender);
  }

  forget(sender: Sender): void {
    this.#senders.delete(sender);
    this.#waiting.delete(sender);
  }

  /** Counts what was acknowledged, and resumes streams that wait for room. Returns whether there was any. */
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

/** A connection whose bytes are counted, and its peer. */
interface CountedConnection {
  readonly peer: string;
  readonly window: SendWindow;
}

/** Bytes of all connections that wait to be sent or to arrive. */
const MOST = 256 * 1024 * 1024;

/**
 * Counts what all connections have to send. Above the limit, the largest connection of the peer with
 * the most unsent bytes is closed: a peer that opens many connections and reads none pays for that.
 */
export class SendLoad<C extends CountedConnection> {
  readonly #giveUp: (connection: C) => void;
  readonly #most: number;
  readonly #connections = new Set<C>();
  #size = 0;

  constructor(giveUp: (connection: C) => void, most = MOST) {
    this.#giveUp = giveUp;
    this.#most = most;
  }

  change(connection: C, bytes: number): void {
    this.#size += bytes;
    if (connection.window.size === 0) this.#connections.delete(connection);
    else this.#connections.add(connection);
    if (bytes > 0 && this.#size > this.#most) this.#giveUp(this.#largest());
  }

  #largest(): C {
    const peers = Map.groupBy(this.#connections, ({ peer }) => peer);
    const sizeOf = (all: readonly C[]): number =>
      all.reduce((sum, { window }) => sum + window.size, 0);
    const [worst = []] = [...peers.values()].toSorted((a, b) => sizeOf(b) - sizeOf(a));
    const [largest] = worst.toSorted((a, b) => b.window.size - a.window.size);
    if (largest === undefined)
      throw new Error("The bytes to send are over the limit, but no connection has any");
    return largest;
  }
}

const CLASS_GENERIC = 0;
const VALUE_WRITE_BUFFER_SIZE = 7;
const VALUE_WRITE_BUFFER_USED = 8;
const value = pinnedBuffer(8);
const valueAddress = addressOf(value);
/** A QUIC_STREAM_ITER: the map, the first stream, and the stream that it stands at. */
const iterator = pinnedBuffer(24);
const iteratorAddress = addressOf(iterator);
const AT = 16;

/**
 * Streams that both sides have ended, until the peer has acknowledged their last bytes (the states
 * "Data Recvd" and "Data Read" of RFC 9000 § 3.1 and § 3.2).
 *
 * OpenSSL 3.5 keeps what it knows of a stream until its connection ends: its collector waits for
 * something that never comes (openssl/openssl#32188, #29402). Half a kilobyte for each stream adds
 * up, and a client walks through all of it whenever it may open more. So it is released here, which
 * is safe exactly when nothing is left to send and nothing to read.
 */
export class SpentStreams {
  readonly #connection: Pointer;
  readonly #window: SendWindow;
  readonly #streams: { readonly ssl: Pointer; readonly underWay: number }[] = [];
  /** Ids of streams that were freed and that OpenSSL would still send something on. */
  #unreleased: bigint[] = [];
  /** OpenSSL's map of the connection's streams, while the connection lasts. */
  #map: Pointer | undefined;

  constructor(connection: Pointer, window: SendWindow) {
    this.#connection = connection;
    this.#window = window;
  }

  get isEmpty(): boolean {
    return this.#streams.length === 0 && this.#unreleased.length === 0;
  }

  /** Takes over a native stream that was read and written to its end. */
  add(ssl: Pointer, underWay: number): void {
    this.#streams.push({ ssl, underWay });
    this.#window.move(underWay);
  }

  /** Frees the streams whose last bytes were acknowledged. They mostly are in order. */
  release(): void {
    const waiting = this.#streams.findIndex(({ ssl }) => !hasArrived(ssl));
    const arrived = this.#streams.splice(0, waiting === -1 ? this.#streams.length : waiting);
    for (const { ssl, underWay } of arrived) {
      this.#window.move(-underWay);
      this.#free(ssl);
    }
    this.#unreleased = this.#unreleased.filter((id) => !this.#release(id));
  }

  /** Frees all. What was written still goes out while the connection lasts. */
  clear(): void {
    for (const { ssl, underWay } of this.#streams.splice(0)) {
      this.#window.move(-underWay);
      native.SSL_free(ssl);
    }
    // The connection is about to be freed, and all of its streams with it.
    this.#unreleased = [];
  }

  #free(ssl: Pointer): void {
    const id = native.SSL_get_stream_id(ssl);
    native.SSL_free(ssl);
    if (!this.#release(id)) this.#unreleased.push(id);
  }

  /**
   * Has OpenSSL forget a stream. False where it is the next one that OpenSSL would send on: a peer
   * that asked us to stop (RFC 9000 § 3.5) is still owed a RESET_STREAM, which waits where the
   * congestion window is full. OpenSSL takes a stream that it releases off its list, but leaves its
   * pointer to the next one where it is: to release that one would have it send from freed memory.
   */
  #release(id: bigint): boolean {
    if (internals === undefined) return true;
    const map = (this.#map ??= mapOf(internals, this.#connection));
    const stream = internals.ossl_quic_stream_map_get_by_id(map, id);
    if (stream === NULL) return true;
    // Moves the pointer on from a stream that has nothing more to send.
    internals.ossl_quic_stream_map_update_state(map, stream);
    internals.ossl_quic_stream_iter_init(iteratorAddress, map, 0);
    if (iterator.readBigUInt64LE(AT) === stream) return false;
    internals.ossl_quic_stream_map_release(map, stream);
    return true;
  }
}

function mapOf(from: NonNullable<typeof internals>, connection: Pointer): Pointer {
  return from.ossl_quic_channel_get_qsm(from.ossl_quic_conn_get_channel(connection));
}

/** OpenSSL lets go of the buffer of what is sent when the peer has acknowledged all of it. */
function hasArrived(ssl: Pointer): boolean {
  native.SSL_get_value_uint(ssl, CLASS_GENERIC, VALUE_WRITE_BUFFER_SIZE, valueAddress);
  return value.readBigUInt64LE() === 0n;
}

/** Bytes of a stream that OpenSSL keeps until they have arrived. */
export function bytesUnderWay(ssl: Pointer): number {
  native.SSL_get_value_uint(ssl, CLASS_GENERIC, VALUE_WRITE_BUFFER_USED, valueAddress);
  return Number(value.readBigUInt64LE());
}
