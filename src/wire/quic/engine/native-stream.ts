import { NULL, addressOf, pinnedBuffer, type Pointer } from "../../../base/process/ffi.ts";
import { EVENT, FIRST, LAST, LONGEST_PAYLOAD, READ_WINDOW } from "../control-frame.ts";
import type { Endpoint } from "./engine.ts";
import type { NativeConnection } from "./native-connection.ts";
import { native } from "./native.ts";
import { WAIT, type PollEntry } from "./poll-set.ts";
import { bytesUnderWay, type Sender } from "./send-window.ts";

const CONCLUDE = 1n;
const ERROR_WANT_READ = 2;
const ERROR_WANT_WRITE = 3;
const ERROR_ZERO_RETURN = 6;
const STATE_FINISHED = 3;
const FAILED = WAIT.readFailed | WAIT.writeFailed;
const PIECE = 32 * 1024;
const done = pinnedBuffer(8);
const doneAddress = addressOf(done);
const resetArguments = pinnedBuffer(8);
const resetAddress = addressOf(resetArguments);

/** Room is reported in steps: a message for each small piece would cost more than the piece. */
const ROOM_STEP = 32 * 1024;
/**
 * Streams with more unacknowledged bytes than this are counted as acknowledgements arrive; others when the
 * stream has ended.
 */
const WORTH_COUNTING = 64 * 1024;

/** One stream of a connection. Owns the native stream from `attach` on. */
export class NativeStream implements PollEntry, Sender {
  readonly id: number;
  slot = -1;
  ssl: Pointer = NULL;
  readonly #connection: NativeConnection;
  readonly #unsent: Buffer[] = [];
  #isConcluded = false;
  #isWritten = false;
  #isRead = false;
  #isReset = false;
  /** Something came. */
  #isHeard = false;
  #isAnnounced: boolean;
  #credit = READ_WINDOW;
  /** Bytes taken that the program was not told of. */
  #taken = 0;
  /** Bytes that are under way, as far as was counted. */
  #underWay = 0;

  /** A stream that the peer opened is reported with its first bytes. */
  constructor(connection: NativeConnection, id: number, isAnnounced: boolean) {
    this.#connection = connection;
    this.id = id;
    this.#isAnnounced = isAnnounced;
  }

  get endpoint(): Endpoint {
    return this.#connection.endpoint;
  }

  /** Both sides have said all they had to. */
  get isComplete(): boolean {
    return this.#isRead && this.#isWritten;
  }

  /** Takes over a native stream, and sends what has gathered. */
  attach(ssl: Pointer): void {
    this.ssl = ssl;
    this.#connection.pollSet.add(this, 0);
    if (this.#sendUnsent()) this.#connection.tell();
    this.#settle();
  }

  /** Reports a stream that the peer has opened without sending anything. */
  announce(): void {
    if (this.#isAnnounced || this.slot < 0) return;
    this.#isAnnounced = true;
    const { engine, id } = this.#connection;
    engine.pipe.eventNumber(EVENT.data, FIRST, this.id, id);
  }

  /** `bytes` are only valid during the call. */
  write(bytes: Buffer, isLast: boolean): void {
    this.#isConcluded ||= isLast;
    const mayTry = this.ssl !== NULL && this.#unsent.length === 0;
    if (mayTry && (bytes.length === 0 || this.#connection.window.hasRoom)) {
      const sent = this.#send(bytes, isLast);
      if (sent < 0) return this.#fail(WAIT.writeFailed);
      if (sent < bytes.length) this.#hold(bytes.subarray(sent));
    } else {
      this.#hold(bytes);
    }
    this.#settle();
  }

  recount(): void {
    if (this.#underWay < WORTH_COUNTING || this.ssl === NULL) return;
    this.#count(bytesUnderWay(this.ssl));
  }

  resume(): void {
    this.#sendUnsent();
    this.#settle();
  }

  grant(bytes: number): void {
    this.#credit += bytes;
    this.#settle();
  }

  /** Tells the peer that neither more comes nor more is read. */
  reset(code: number): void {
    if (this.ssl !== NULL && !this.#isWritten) {
      resetArguments.writeBigUInt64LE(BigInt(code));
      native.SSL_stream_reset(this.ssl, resetAddress, 8n);
      this.#isReset = true;
    }
    // Freeing a stream that the peer has not answered on sends STOP_SENDING (RFC 9000 § 3.5).
    this.#isReset ||= this.#isHeard;
    this.#connection.forget(this);
  }

  ready(events: number): void {
    if ((events & WAIT.readable) !== 0) this.#read();
    const mayWrite = this.slot >= 0 && (events & WAIT.writable) !== 0;
    if (mayWrite && this.#sendUnsent()) this.#connection.tell();
    if (this.slot >= 0 && (events & FAILED) !== 0) this.#fail(events);
    else this.#settle();
  }

  /** Reads what came before the connection ended. */
  readRest(): void {
    if (this.ssl !== NULL && !this.#isRead) this.#read(false);
  }

  /** Lets go of the native stream. What was written to its end still goes out. */
  free(): void {
    this.#connection.pollSet.remove(this);
    for (const bytes of this.#unsent.splice(0)) this.#connection.window.hold(-bytes.length);
    this.#connection.window.forget(this);
    const underWay = this.#underWay;
    this.#count(0);
    const ssl = this.ssl;
    this.ssl = NULL;
    if (ssl === NULL) return;
    if (this.#isRead && this.#isWritten) this.#connection.retire(ssl, underWay);
    else if (this.#isReset && !this.#isRead) this.#connection.discard(ssl);
    else native.SSL_free(ssl);
  }

  #read(mayFail = true): void {
    const { pipe } = this.#connection.engine;
    while (!this.#isRead && this.#credit > 0 && !pipe.isFull) {
      const lead = this.#isAnnounced ? 0 : 4;
      const wanted = Math.min(this.#credit, PIECE);
      const target = pipe.reserve(LONGEST_PAYLOAD) + BigInt(lead);
      const isRead = native.SSL_read_ex(this.ssl, target, BigInt(wanted), doneAddress) === 1;
      const got = isRead ? done.readUInt32LE() : 0;
      if (!isRead) {
        const error = native.SSL_get_error(this.ssl, 0);
        if (error === ERROR_WANT_READ) return;
        if (error !== ERROR_ZERO_RETURN) {
          if (mayFail) this.#fail(WAIT.readFailed);
          return;
        }
        this.#isRead = true;
      }
      this.#credit -= got;
      this.#isHeard = true;
      // The end mostly follows at once, and then travels with the last bytes.
      if (isRead && got < wanted && this.#isAtEnd()) this.#isRead = true;
      if (!this.#isAnnounced) pipe.lead(this.#connection.id);
      const flags = (this.#isAnnounced ? 0 : FIRST) | (this.#isRead ? LAST : 0);
      this.#isAnnounced = true;
      pipe.commit(EVENT.data, flags, this.id, lead + got);
      this.#connection.took(got);
    }
    if (pipe.isFull) this.#connection.engine.starved.add(this.endpoint);
  }

  #isAtEnd(): boolean {
    return native.SSL_get_stream_read_state(this.ssl) === STATE_FINISHED;
  }

  /** A copy: the bytes are lent. */
  #hold(bytes: Buffer): void {
    this.#unsent.push(Buffer.from(bytes));
    this.#connection.window.hold(bytes.length);
  }

  /** Returns whether OpenSSL has taken some of it, which it sends with its next turn. */
  #sendUnsent(): boolean {
    const { window } = this.#connection;
    let hasTaken = false;
    for (let first = this.#unsent[0]; first !== undefined; first = this.#unsent[0]) {
      if (first.length > 0 && !window.hasRoom) break;
      const taken = this.#send(first, this.#isConcluded && this.#unsent.length === 1);
      if (taken < 0) {
        this.#fail(WAIT.writeFailed);
        break;
      }
      window.hold(-taken);
      hasTaken ||= taken > 0 || first.length === 0;
      if (taken < first.length) {
        this.#unsent[0] = first.subarray(taken);
        break;
      }
      this.#unsent.shift();
    }
    return hasTaken;
  }

  /** Returns how many bytes were taken, or -1 when none can be any more. */
  #send(bytes: Buffer, isLast: boolean): number {
    if (bytes.length === 0) {
      if (isLast) this.#isWritten = native.SSL_stream_conclude(this.ssl, 0n) === 1;
      return isLast && !this.#isWritten ? -1 : 0;
    }
    const isSent =
      native.SSL_write_ex2(
        this.ssl,
        addressOf(bytes),
        BigInt(bytes.length),
        isLast ? CONCLUDE : 0n,
        doneAddress,
      ) === 1;
    if (!isSent) return native.SSL_get_error(this.ssl, 0) === ERROR_WANT_WRITE ? 0 : -1;
    const sent = done.readUInt32LE();
    this.#isWritten = isLast && sent === bytes.length;
    this.#count(this.#underWay + sent);
    this.#taken += sent;
    if (this.#taken >= ROOM_STEP && !this.#isConcluded) {
      this.#connection.engine.pipe.eventNumber(EVENT.room, 0, this.id, this.#taken);
      this.#taken = 0;
    }
    return sent;
  }

  #count(underWay: number): void {
    this.#connection.window.move(underWay - this.#underWay, this);
    this.#underWay = underWay;
  }

  /** The peer sent RESET_STREAM or STOP_SENDING (RFC 9000 § 3.5): the exchange is over. */
  #fail(events: number): void {
    if (this.#connection.endIfOver()) return;
    const code = this.#errorCode(events);
    native.ERR_clear_error();
    this.#connection.engine.pipe.eventNumber(EVENT.reset, 0, this.id, code);
    // A peer that only stopped reading may still send.
    if ((events & WAIT.readFailed) === 0) this.#isReset = true;
    this.#connection.forget(this);
  }

  #errorCode(events: number): number {
    const ofRead = (events & WAIT.readFailed) !== 0;
    done.fill(0);
    if (ofRead) native.SSL_get_stream_read_error_code(this.ssl, doneAddress);
    else native.SSL_get_stream_write_error_code(this.ssl, doneAddress);
    return done.readUInt32LE();
  }

  #settle(): void {
    if (this.slot < 0) return;
    if (this.#isRead && this.#isWritten) return this.#connection.forget(this);
    let events = 0;
    // What is unsent waits for OpenSSL, or for room: the last piece that went may have filled it.
    if (this.#unsent.length > 0) {
      if (this.#connection.window.hasRoom) events = WAIT.writable;
      else this.#connection.await(this);
    }
    if (!this.#isRead) events |= WAIT.readFailed | (this.#credit > 0 ? WAIT.readable : 0);
    // STOP_SENDING after we have sent everything changes nothing for the exchange.
    if (!this.#isWritten) events |= WAIT.writeFailed;
    this.#connection.pollSet.await(this, events);
  }
}

const bin = pinnedBuffer(64 * 1024);
const binAddress = addressOf(bin);
const binSize = BigInt(bin.length);
const length = pinnedBuffer(8);
const lengthAddress = addressOf(length);

/**
 * A stream that was broken off here while the peer still sends. It is read to its end and thrown
 * away: if it were freed at once, OpenSSL would count what still arrives against the flow control
 * window of the connection (RFC 9000 § 4.1) and never give it back.
 */
export class DiscardedStream implements PollEntry {
  readonly ssl: Pointer;
  slot = -1;
  readonly #connection: NativeConnection;

  /** Takes over a native stream. */
  constructor(connection: NativeConnection, ssl: Pointer) {
    this.#connection = connection;
    this.ssl = ssl;
    connection.pollSet.add(this, WAIT.readable | WAIT.readFailed);
  }

  ready(): void {
    while (native.SSL_read_ex(this.ssl, binAddress, binSize, lengthAddress) === 1) {
      this.#connection.took(length.readUInt32LE());
    }
    if (native.SSL_get_error(this.ssl, 0) === ERROR_WANT_READ) return;
    native.ERR_clear_error();
    this.#connection.forgetDiscarded(this);
  }

  free(): void {
    this.#connection.pollSet.remove(this);
    native.SSL_free(this.ssl);
  }
}
