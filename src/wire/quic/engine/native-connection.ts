import { toBuffer, toString } from "node:ffi";
import * as ffi from "../../../base/process/ffi.ts";
import { EVENT } from "../control-frame.ts";
import type { ConnectedPeer, EndReason, QuicFailure } from "../settings.ts";
import type { Endpoint, Engine } from "./engine.ts";
import { peerCertificate } from "./tls-context.ts";
import { DiscardedStream, NativeStream } from "./native-stream.ts";
import { internals, native } from "./native.ts";
import { WAIT, type PollSet, type PollEntry } from "./poll-set.ts";
import { SendWindow, SpentStreams } from "./send-window.ts";

const CTRL_MODE = 33;
const PARTIAL_WRITE = 1n;
const DEFAULT_STREAM_NONE = 0;
const VALUE_EVENT_HANDLING = 6;
const EXPLICIT = 2n;
const NO_BLOCK = 1n;
const STREAM_NO_BLOCK = 2n;
const POLICY_ACCEPT = 1;
const POLICY_REJECT = 2;
const OVER = WAIT.failed | WAIT.connectionOver;

/** Milliseconds that closing waits for acknowledgements. Then the connection is cut. */
const FLUSH_TIME = 2_000;
/** Milliseconds that a peer may go on sending what nobody reads, before it gets STOP_SENDING. */
const DISCARD_TIME = 2_000;
/** Aborted streams of one connection. OpenSSL keeps memory for each until the connection ends. */
const MOST_BROKEN = 10_000;
/**
 * Streams that are accepted before the peer is told how many more it may open. OpenSSL changes that
 * after every 25 of 100: a peer that waits for it is told in time.
 */
const WORTH_TELLING = 16;
const BREAKS_OFF: EndReason = { trouble: "limit", detail: "too many exchanges were aborted" };

export interface NativeConnectionOptions {
  readonly id: number;
  readonly ssl: ffi.Pointer;
  /** The listener that took it; without one, we dialled. */
  readonly listener?: number;
  readonly keepAlive: number;
  readonly handshakeTimeout: number;
  /** Streams of the peer that may run at once. OpenSSL itself counts only those not taken yet. */
  readonly maxStreams: number;
}

/** One connection with its streams. Owns the native connection. */
export class NativeConnection implements PollEntry {
  readonly id: number;
  readonly ssl: ffi.Pointer;
  readonly engine: Engine;
  readonly endpoint: Endpoint;
  slot = -1;
  nextCheck: number;
  readonly spent: SpentStreams;
  readonly window: SendWindow;
  /** The name in the peer's certificate; empty before it is known. */
  peer = "";
  readonly #options: NativeConnectionOptions;
  readonly #streams = new Set<NativeStream>();
  /** Streams of ours that wait for the peer to allow more (RFC 9000 § 4.6). */
  readonly #waiting: NativeStream[] = [];
  /** Streams whose remaining bytes are read and dropped, and until when. */
  readonly #discarded = new Map<DiscardedStream, number>();
  #accepted = 0;
  #broken = 0;
  #state: "handshake" | "open" | "closing" | "over" = "handshake";
  #cutAt: number;
  #closeReason: CloseReason | undefined;
  readonly #liveness: Liveness;

  constructor(engine: Engine, endpoint: Endpoint, options: NativeConnectionOptions) {
    this.engine = engine;
    this.endpoint = endpoint;
    this.#options = options;
    this.id = options.id;
    this.ssl = options.ssl;
    this.window = new SendWindow((bytes) => engine.load.change(this, bytes));
    this.spent = new SpentStreams(options.ssl, this.window);
    this.#liveness = new Liveness(pingsOf(options.ssl), options.keepAlive);
    this.#cutAt = engine.now + options.handshakeTimeout;
    this.nextCheck = this.#cutAt;
    native.SSL_set_blocking_mode(this.ssl, 0);
    native.SSL_set_default_stream_mode(this.ssl, DEFAULT_STREAM_NONE);
    native.SSL_set_value_uint(this.ssl, 0, VALUE_EVENT_HANDLING, EXPLICIT);
    native.SSL_ctrl(this.ssl, CTRL_MODE, PARTIAL_WRITE, ffi.NULL);
    const policy = options.listener === undefined ? POLICY_REJECT : POLICY_ACCEPT;
    native.SSL_set_incoming_stream_policy(this.ssl, policy, 0n);
    this.pollSet.add(this, OVER);
  }

  get pollSet(): PollSet {
    return this.endpoint.pollSet;
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  get isArriving(): boolean {
    return this.#state === "handshake";
  }

  get isOver(): boolean {
    return this.#state === "over";
  }

  get isEnding(): boolean {
    return this.#state === "closing" || this.#state === "over";
  }

  /** Opens a stream, now or when the peer has room for it. */
  open(id: number): NativeStream {
    const stream = new NativeStream(this, id, true);
    this.#streams.add(stream);
    this.engine.streams.set(id, stream);
    this.#waiting.push(stream);
    this.#openWaiting();
    return stream;
  }

  forget(stream: NativeStream): void {
    this.#streams.delete(stream);
    this.engine.streams.delete(stream.id);
    const waiting = this.#waiting.indexOf(stream);
    if (waiting >= 0) this.#waiting.splice(waiting, 1);
    const isBroken = !stream.isComplete;
    stream.free();
    if (isBroken) {
      // Freeing it has queued a RESET_STREAM, a STOP_SENDING, or both.
      this.tell();
      if (++this.#broken > MOST_BROKEN) this.engine.doomed.set(this, BREAKS_OFF);
    }
    this.#acceptMore();
  }

  /**
   * Has OpenSSL send what it was given to send. By itself it only sends while it takes its turn: in
   * the middle of one, or after, it would wait for the peer's next packet.
   */
  tell(): void {
    this.engine.touched.add(this.endpoint);
  }

  /** Takes over a native stream whose peer still sends what nobody wants. */
  discard(ssl: ffi.Pointer): void {
    if (this.#state !== "open") return native.SSL_free(ssl);
    const discarded = new DiscardedStream(this, ssl);
    this.#discarded.set(discarded, this.engine.now + DISCARD_TIME);
    discarded.ready();
  }

  forgetDiscarded(stream: DiscardedStream): void {
    this.#discarded.delete(stream);
    stream.free();
    this.tell();
    this.#acceptMore();
  }

  /** Takes over a native stream that was read and written to its end. */
  retire(ssl: ffi.Pointer, underWay: number): void {
    this.spent.add(ssl, underWay);
    this.endpoint.spending.add(this);
  }

  /** Resumes a stream when there is room for what it sends. */
  await(stream: NativeStream): void {
    this.window.await(stream);
    this.endpoint.spending.add(this);
  }

  ready(events: number): void {
    if ((events & OVER) !== 0) {
      this.endIfOver();
      return;
    }
    if ((events & WAIT.stream) !== 0) this.#acceptStreams();
    if ((events & WAIT.mayOpen) !== 0) this.#openWaiting();
  }

  /** Continues the handshake or the closing, which take several turns. */
  advance(): void {
    if (this.#state === "handshake") this.#shakeHands();
    else if (this.#state === "closing") this.#close();
  }

  /** Closes once what was written has arrived, within a bounded time. */
  close(code: number, reason: string): void {
    if (this.#state === "over" || this.#state === "closing") return;
    this.#closeReason = new CloseReason(code, reason);
    this.#state = "closing";
    this.endpoint.unsettled.add(this);
    this.#cutAt = this.engine.now + FLUSH_TIME;
    this.#checkAt(this.#cutAt);
    for (const stream of [...this.#streams]) this.forget(stream);
    this.#close();
  }

  /** Bytes were read, so the peer may send as many more. */
  took(bytes: number): void {
    this.#liveness.heard();
    this.endpoint.took(bytes);
  }

  /** If the connection has ended, reports that and frees everything. */
  endIfOver(): boolean {
    if (this.#state === "over") return true;
    const ending = endingOf(this.ssl, this.#state !== "handshake");
    if (ending === undefined) return false;
    // A peer may answer and close at once: its answer is read before the end is told.
    if (this.#state === "open") for (const stream of [...this.#streams]) stream.readRest();
    this.#end(ending);
    return true;
  }

  /** Checks the time limits, and whether the peer still answers. */
  check(): void {
    const { now } = this.engine;
    if (this.#state === "handshake" && now >= this.#cutAt) {
      this.#cut({ trouble: "timeout", detail: "the handshake took too long" });
    } else if (this.#state === "closing" && now >= this.#cutAt) {
      this.#cut({ trouble: "closed", detail: "" });
    } else if (this.#state === "open") {
      for (const [stream, until] of this.#discarded) if (now > until) this.forgetDiscarded(stream);
      this.#checkAlive(now);
    }
  }

  /** Closes without waiting for anything. */
  abandon(ending: EndReason = { trouble: "closed", detail: "" }): void {
    if (this.#state !== "over") this.#cut(ending);
  }

  #shakeHands(): void {
    native.ERR_clear_error();
    const isDone = native.SSL_do_handshake(this.ssl) === 1;
    if (this.endIfOver() || !isDone) return;
    // RFC 9001 § 4.1.2: only a confirmed handshake means that the server took our certificate.
    if (this.#options.listener === undefined && !this.#isConfirmed()) return;
    this.#state = "open";
    this.#checkAt(this.engine.now + this.#options.keepAlive / CHECKS);
    const certificate = peerCertificate(this.ssl)?.toString("base64");
    this.peer = certificate ?? "";
    this.engine.pipe.eventJson(EVENT.connected, this.id, {
      listener: this.#options.listener,
      certificate,
    } satisfies ConnectedPeer);
    this.#openWaiting();
    this.#await();
    // The first request may have come with the end of the handshake, and nothing else may follow.
    this.engine.needsTurn = true;
  }

  #checkAt(time: number): void {
    this.nextCheck = time;
    this.engine.checkBy(time);
  }

  #isConfirmed(): boolean {
    if (internals === undefined) return true;
    const channel = internals.ossl_quic_conn_get_channel(this.ssl);
    return internals.ossl_quic_channel_is_handshake_confirmed(channel) === 1;
  }

  #acceptStreams(): void {
    while (this.#state === "open" && this.#incoming < this.#options.maxStreams) {
      const ssl = native.SSL_accept_stream(this.ssl, NO_BLOCK);
      if (ssl === ffi.NULL) break;
      const stream = new NativeStream(this, this.engine.nextId(), false);
      this.#streams.add(stream);
      this.engine.streams.set(stream.id, stream);
      this.#accepted += 1;
      if (this.#accepted % WORTH_TELLING === 0) this.tell();
      stream.attach(ssl);
      stream.ready(WAIT.readable);
      stream.announce();
    }
    this.#await();
  }

  /** A stream has ended. If the limit was reached, another may be accepted, which OpenSSL may have already. */
  #acceptMore(): void {
    if (this.#incoming !== this.#options.maxStreams - 1) return;
    this.#await();
    this.engine.touched.add(this.endpoint);
  }

  #openWaiting(): void {
    if (this.#state !== "open") return;
    for (let stream = this.#waiting[0]; stream !== undefined; stream = this.#waiting[0]) {
      const ssl = native.SSL_new_stream(this.ssl, STREAM_NO_BLOCK);
      if (ssl === ffi.NULL) {
        native.ERR_clear_error();
        this.endIfOver();
        break;
      }
      this.#waiting.shift();
      stream.attach(ssl);
    }
    this.#await();
  }

  /** Streams of the peer's, if it is the peer that opens them. */
  get #incoming(): number {
    return this.#streams.size + this.#discarded.size;
  }

  #await(): void {
    if (this.#state !== "open") return;
    const opens = this.#waiting.length > 0 ? WAIT.mayOpen : 0;
    const accepts = this.#incoming < this.#options.maxStreams ? WAIT.stream : 0;
    this.pollSet.await(this, OVER | opens | accepts);
  }

  #checkAlive(now: number): void {
    const { keepAlive } = this.#options;
    this.nextCheck = now + keepAlive / CHECKS;
    if (this.#liveness.check(now, this.#streams.size > 0)) this.engine.touched.add(this.endpoint);
    if (!this.#liveness.isSilent) return;
    this.#cut({ trouble: "silent", detail: `nothing was heard for ${keepAlive} ms` });
  }

  #close(): void {
    if (this.#isSaid()) return this.#end({ trouble: "closed", detail: "" });
    this.spent.release();
    // A client has its answer by now. What a server answered may still be on its way.
    const mayBeUnderWay = this.#options.listener !== undefined && !this.spent.isEmpty;
    this.#closeReason?.say(this.ssl, mayBeUnderWay);
    if (this.#isSaid()) this.engine.needsTurn = true;
  }

  #cut(ending: EndReason): void {
    this.#closeReason ??= new CloseReason(0, ending.detail);
    this.#closeReason.say(this.ssl, false);
    native.SSL_handle_events(this.ssl);
    // That may have read packets of other connections on the same socket.
    this.engine.touched.add(this.endpoint);
    this.#end(ending);
  }

  /** Whether OpenSSL has the CONNECTION_CLOSE ready, which the next turn sends. */
  #isSaid(): boolean {
    return endingOf(this.ssl, true) !== undefined;
  }

  #end(ending: EndReason): void {
    if (this.#state === "over") return;
    const wasHandshake = this.#state === "handshake";
    this.#state = "over";
    for (const stream of [...this.#streams]) this.forget(stream);
    this.spent.clear();
    for (const stream of this.#discarded.keys()) stream.free();
    this.#discarded.clear();
    this.pollSet.remove(this);
    native.SSL_free(this.ssl);
    native.ERR_clear_error();
    const { listener } = this.#options;
    if (wasHandshake && listener !== undefined) {
      this.engine.pipe.eventJson(EVENT.refused, listener, ending);
    } else {
      this.engine.pipe.eventJson(EVENT.closed, this.id, ending);
    }
    this.endpoint.drop(this);
  }
}

/** Checks of a connection in a keep-alive interval; after more checks without a sign the peer is silent. */
export const CHECKS = 3;

/** What a connection knows of its peer's acknowledgements, and how it asks for one. */
export interface Pings {
  /** How many have come. */
  acks(): number;
  ping(): void;
}

/** Those of OpenSSL; undefined where it does not tell. */
export function pingsOf(connection: ffi.Pointer): Pings | undefined {
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

  /** True when a ping was scheduled. While an answer is awaited, each check sends one. */
  check(now: number, isWaiting: boolean): boolean {
    // OpenSSL then sends pings itself, less often, and its idle timeout finds dead peers.
    if (this.#pings === undefined) return false;
    const acks = this.#pings.acks();
    if (acks !== this.#acks || this.#isHeard) this.#silentChecks = 0;
    else if (this.#lastPing > 0) this.#silentChecks += 1;
    this.#acks = acks;
    this.#isHeard = false;
    const isDue = isWaiting || now - this.#lastPing >= this.#keepAlive;
    if (!isDue && this.#silentChecks === 0) return false;
    this.#lastPing = now;
    this.#pings.ping();
    return true;
  }
}

const INFO = ffi.pinnedBuffer(40);
const INFO_ADDRESS = ffi.addressOf(INFO);
const LOCAL = 1;
const TRANSPORT = 2;
const IDLE = 0xffff_ffff_ffff_ffffn;
/** RFC 9001 § 4.8: an error of TLS is this plus the number of its alert. */
const CRYPTO_ERROR = 0x100;
const LONGEST_REASON = 1024;

/** By the numbers of RFC 8446 § 6. */
const ALERTS: Readonly<Record<number, readonly [QuicFailure, string]>> = {
  40: ["bad-certificate", "the handshake failed"],
  42: ["bad-certificate", "the certificate was refused"],
  43: ["bad-certificate", "the kind of certificate is not supported"],
  44: ["bad-certificate", "the certificate is revoked"],
  45: ["expired", "the certificate is expired, or not valid yet"],
  46: ["bad-certificate", "the certificate was refused"],
  48: ["wrong-ca", "the certificate was not made by a CA that is trusted there"],
  51: ["bad-certificate", "the certificate's key did not sign"],
  112: ["wrong-name", "the name is not known there"],
  116: ["no-certificate", "a certificate is required, and none was shown"],
  120: ["wrong-alpn", "no protocol in common"],
};

/** What OpenSSL found wrong with a certificate: X509_V_ERR_… */
const VERDICTS: Readonly<Record<number, QuicFailure>> = {
  2: "wrong-ca",
  7: "wrong-ca",
  9: "expired",
  10: "expired",
  18: "wrong-ca",
  19: "wrong-ca",
  20: "wrong-ca",
  21: "wrong-ca",
  62: "wrong-name",
  64: "wrong-name",
};

/** Why a connection is over (RFC 9000 § 10): undefined while it is not. */
export function endingOf(ssl: ffi.Pointer, isEstablished: boolean): EndReason | undefined {
  if (native.SSL_get_conn_close_info(ssl, INFO_ADDRESS, BigInt(INFO.length)) !== 1) {
    return undefined;
  }
  const code = INFO.readBigUInt64LE(0);
  const flags = INFO.readUInt32LE(32);
  const byPeer = (flags & LOCAL) === 0;
  const reason = text(INFO.readBigUInt64LE(16), Number(INFO.readBigUInt64LE(24)));
  if ((flags & TRANSPORT) === 0) {
    return { trouble: "closed", detail: reason, code: Number(code), byPeer };
  }
  if (code === IDLE) return { trouble: "idle", detail: "nothing was heard for the idle timeout" };
  const alert = Number(code) - CRYPTO_ERROR;
  if (alert >= 0 && alert < 256) return ofHandshake(ssl, alert, byPeer, reason);
  if (!byPeer && reason.includes("network")) {
    return isEstablished
      ? { trouble: "network", detail: "the peer's port is closed, or the network failed" }
      : { trouble: "refused", detail: "nothing listens there" };
  }
  const detail = `${reason === "" ? "no reason given" : reason} (QUIC error ${code})`;
  return { trouble: code === 0n && byPeer ? "closed" : "protocol", detail, byPeer };
}

function ofHandshake(ssl: ffi.Pointer, alert: number, byPeer: boolean, reason: string): EndReason {
  if (!byPeer) {
    const verdict = Number(native.SSL_get_verify_result(ssl));
    if (verdict !== 0) {
      const why = toString(native.X509_verify_cert_error_string(BigInt(verdict)));
      return { trouble: VERDICTS[verdict] ?? "bad-certificate", detail: why ?? "", byPeer };
    }
  }
  const [trouble, why] = ALERTS[alert] ?? ["protocol", `TLS alert ${alert}`];
  // Go sends one alert for all that is wrong with a certificate, and says which in words.
  const said = byPeer && reason !== "" ? `${why} (${reason})` : why;
  return { trouble: goTrouble(reason) ?? trouble, detail: said, byPeer };
}

function goTrouble(reason: string): QuicFailure | undefined {
  if (reason.includes("unknown authority")) return "wrong-ca";
  if (reason.includes("has expired or is not yet valid")) return "expired";
  if (reason.includes("didn't provide a certificate")) return "no-certificate";
  return undefined;
}

function text(at: ffi.Pointer, length: number): string {
  if (at === ffi.NULL || length === 0) return "";
  return toBuffer(at, Math.min(length, LONGEST_REASON)).toString("utf8");
}

const RAPID = 1n;
const NO_STREAM_FLUSH = 2n;
const CLOSE_NO_BLOCK = 4n;
const SIZE = 16;

/** The code and the reason with which a connection is closed, as OpenSSL wants them. */
export class CloseReason {
  readonly #words: Buffer;

  constructor(code: number, reason: string) {
    const text = ffi.fixedText(reason);
    this.#words = ffi.fixedBuffer(SIZE + text.length);
    text.copy(this.#words, SIZE);
    this.#words.writeBigUInt64LE(BigInt(code), 0);
    // The reason is kept beside its address.
    this.#words.writeBigUInt64LE(ffi.addressOf(this.#words) + BigInt(SIZE), 8);
  }

  /**
   * Closes a connection immediately (RFC 9000 § 10.2), without waiting for the peer. With `flush` it
   * closes once what was sent has arrived, and has to be called again until then.
   */
  say(ssl: ffi.Pointer, flush: boolean): void {
    const flags = RAPID | CLOSE_NO_BLOCK | (flush ? 0n : NO_STREAM_FLUSH);
    native.ERR_clear_error();
    ffi.lend(this.#words, (address) => native.SSL_shutdown_ex(ssl, flags, address, BigInt(SIZE)));
  }
}
