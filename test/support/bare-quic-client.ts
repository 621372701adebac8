import { dlopen } from "node:ffi";
import { setTimeout as rest } from "node:timers/promises";

import {
  addressOf,
  fixedBuffer,
  fixedText,
  lend,
  NULL,
  type Pointer,
  pinnedBuffer,
} from "../../src/base/process/ffi.ts";
import { internals, native } from "../../src/wire/quic/engine/native.ts";
import { TlsContext } from "../../src/wire/quic/engine/tls-context.ts";
import { connectSocket, withAddress } from "../../src/wire/quic/engine/udp-socket.ts";
import { BUS_ALPN } from "../../src/wire/quic/connection.ts";
import { testCredentials } from "./quic-pair.ts";

const VALUE_EVENT_HANDLING = 6;
const EXPLICIT = 2n;
const STREAM_NO_BLOCK = 2n;
const CONCLUDE = 1n;
const STATE_RESET_REMOTE = 5;
const { SSL_pending } = dlopen(null, {
  SSL_pending: { arguments: ["pointer"], return: "i32" },
}).functions;
const bin = pinnedBuffer(64 * 1024);
const binAddress = addressOf(bin);
/** Less than the 15 s after which OpenSSL pings by itself, which takes along what is owed. */
const LONGEST_WAIT = 10_000;
/** Seconds and microseconds. */
const timeout = pinnedBuffer(16);
const timeoutAddress = addressOf(timeout);
const isInfinite = pinnedBuffer(4);
const isInfiniteAddress = addressOf(isInfinite);
const argument = pinnedBuffer(8);
const argumentAddress = addressOf(argument);

/**
 * A client with nothing between the test and OpenSSL. It sends a packet when the test has it do so
 * and acknowledges what comes, but never sends a ping. So a server that forgets to send something
 * is not reminded by the next packet, as it would be by an engine of ours.
 */
export class BareQuicClient implements Disposable {
  readonly #ssl: Pointer;
  readonly #streams = new Set<Pointer>();
  /** One that was opened to see whether it can be. */
  #next: Pointer | undefined;

  private constructor(ssl: Pointer) {
    this.#ssl = ssl;
  }

  static async connect(port: number): Promise<BareQuicClient> {
    const { client: credentials } = await testCredentials();
    using context = TlsContext.forClient({ ...credentials, alpn: BUS_ALPN });
    const ssl = native.SSL_new(context.pointer);
    const { bio } = connectSocket("127.0.0.1", port);
    native.SSL_set_bio(ssl, bio, bio);
    withAddress("127.0.0.1", port, (address) => native.SSL_set1_initial_peer_addr(ssl, address));
    const alpn = fixedText(`${String.fromCharCode(BUS_ALPN.length)}${BUS_ALPN}`);
    lend(alpn, (address) => native.SSL_set_alpn_protos(ssl, address, alpn.length - 1));
    native.SSL_set_blocking_mode(ssl, 0);
    native.SSL_set_default_stream_mode(ssl, 0);
    const client = new BareQuicClient(ssl);
    await client.until(() => native.SSL_do_handshake(ssl) === 1);
    // Nothing is sent but by `turn`.
    native.SSL_set_value_uint(ssl, 0, VALUE_EVENT_HANDLING, EXPLICIT);
    await client.until(() => client.#isConfirmed);
    return client;
  }

  /** Takes what came and sends what is due. */
  turn(): void {
    native.SSL_handle_events(this.#ssl);
  }

  /** Takes turns until something holds. */
  async until(holds: () => boolean): Promise<void> {
    const end = performance.now() + LONGEST_WAIT;
    for (this.turn(); !holds(); this.turn()) {
      if (performance.now() > end) throw new Error(`Waited ${LONGEST_WAIT} ms for the server`);
      await rest(1);
    }
  }

  /** Takes turns until both sides have acknowledged all that they were sent. */
  async idle(): Promise<void> {
    await this.until(() => {
      native.SSL_get_event_timeout(this.#ssl, timeoutAddress, isInfiniteAddress);
      return isInfinite.readUInt32LE() !== 0 || timeout.readBigUInt64LE() > 0n;
    });
  }

  /** Whether the server allows another stream. */
  get mayOpen(): boolean {
    this.#next ??= this.#open();
    return this.#next !== undefined;
  }

  open(): Pointer {
    const stream = this.#next ?? this.#open();
    if (stream === undefined) throw new Error("The server allows no more streams");
    this.#next = undefined;
    return stream;
  }

  /** Returns how many bytes there was room for. */
  write(stream: Pointer, bytes: Uint8Array, isLast = false): number {
    const copy = fixedBuffer(bytes.length);
    copy.set(bytes);
    const flags = isLast ? CONCLUDE : 0n;
    const isTaken = lend(copy, (address) =>
      native.SSL_write_ex2(stream, address, BigInt(bytes.length), flags, argumentAddress),
    );
    native.ERR_clear_error();
    return isTaken === 1 ? argument.readUInt32LE() : 0;
  }

  /** Whether so many bytes have come that were not read. */
  hasReceived(stream: Pointer, bytes: number): boolean {
    return SSL_pending(stream) >= bytes;
  }

  /** Reads what is there, and returns how many bytes that was. */
  read(stream: Pointer): number {
    let bytes = 0;
    while (native.SSL_read_ex(stream, binAddress, BigInt(bin.length), argumentAddress) === 1) {
      bytes += argument.readUInt32LE();
    }
    native.ERR_clear_error();
    return bytes;
  }

  /** RESET_STREAM. What was written and not sent yet is dropped. */
  reset(stream: Pointer, code: number): void {
    argument.writeBigUInt64LE(BigInt(code));
    native.SSL_stream_reset(stream, argumentAddress, 8n);
  }

  /** Whether the server has sent RESET_STREAM. */
  isReset(stream: Pointer): boolean {
    return native.SSL_get_stream_read_state(stream) === STATE_RESET_REMOTE;
  }

  #open(): Pointer | undefined {
    const stream = native.SSL_new_stream(this.#ssl, STREAM_NO_BLOCK);
    native.ERR_clear_error();
    if (stream === NULL) return undefined;
    this.#streams.add(stream);
    return stream;
  }

  get #isConfirmed(): boolean {
    if (internals === undefined) return true;
    const channel = internals.ossl_quic_conn_get_channel(this.#ssl);
    return internals.ossl_quic_channel_is_handshake_confirmed(channel) === 1;
  }

  [Symbol.dispose](): void {
    for (const stream of this.#streams) native.SSL_free(stream);
    native.SSL_free(this.#ssl);
    native.ERR_clear_error();
  }
}
