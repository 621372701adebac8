import type { SendWindow } from "./send-window.ts";
import { addressOf, internals, native, NULL, pinnedBuffer, type Pointer } from "./native.ts";

const CLASS_GENERIC = 0;
const VALUE_WRITE_BUFFER_SIZE = 7;
const value = pinnedBuffer(8);
const valueAddress = addressOf(value);

/**
 * Streams that both sides have ended, until the peer has acknowledged their last bytes.
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
  #first = 0;
  /** What OpenSSL keeps the connection's streams in, as long as that lasts. */
  #map: Pointer | undefined;

  constructor(connection: Pointer, window: SendWindow) {
    this.#connection = connection;
    this.#window = window;
  }

  get isEmpty(): boolean {
    return this.#streams.length === 0;
  }

  /** Takes over a native stream that was read and written to its end. */
  add(ssl: Pointer, underWay: number): void {
    this.#streams.push({ ssl, underWay });
    this.#window.move(underWay);
  }

  /** Frees those whose last bytes have arrived. They mostly arrive in order. */
  release(): void {
    for (
      let spent = this.#streams[this.#first];
      spent !== undefined;
      spent = this.#streams[this.#first]
    ) {
      if (!hasArrived(spent.ssl)) break;
      this.#first += 1;
      this.#window.move(-spent.underWay);
      this.#free(spent.ssl);
    }
    if (this.#first > 0) this.#streams.splice(0, this.#first);
    this.#first = 0;
  }

  /** Frees all. What was written still goes out while the connection lasts. */
  clear(): void {
    for (const { ssl, underWay } of this.#streams.splice(0)) {
      this.#window.move(-underWay);
      native.SSL_free(ssl);
    }
  }

  #free(ssl: Pointer): void {
    const id = native.SSL_get_stream_id(ssl);
    native.SSL_free(ssl);
    if (internals === undefined) return;
    const map = (this.#map ??= mapOf(internals, this.#connection));
    const stream = internals.ossl_quic_stream_map_get_by_id(map, id);
    if (stream === NULL) return;
    // A stream may be in the list of those with something to send after it has nothing more to say;
    // to release it there would leave that list with a pointer to what is gone.
    internals.ossl_quic_stream_map_update_state(map, stream);
    internals.ossl_quic_stream_map_release(map, stream);
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
