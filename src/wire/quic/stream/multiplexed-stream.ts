import { background } from "../../../base/background.ts";
import { ConnectionError } from "../connection-error.ts";
import type { BidiStream, Connection, PeerCertificate, PrefixCheck } from "../connection.ts";
import { COMMAND, FIRST, LAST, LONGEST_PAYLOAD } from "../control-frame.ts";

/** What carries the frames of streams: the engine's pipe, or a socket. */
export interface FrameCarrier {
  send(kind: number, flags: number, id: number, payload?: Uint8Array, lead?: number): void;
  sendNumber(kind: number, id: number, value: number): void;
}

/** A connection whose streams share a carrier. */
export abstract class MultiplexedConnection implements Connection {
  readonly address: string;
  readonly held: HeldBytes;
  abstract readonly peer: PeerCertificate | undefined;
  /** Goes before the first bytes of a stream, where the carrier has several connections. */
  abstract readonly lead: number | undefined;
  /** Bytes that may be sent before the other side says that it took some. */
  abstract readonly writeWindow: number;
  abstract readonly isClosed: boolean;
  protected readonly streams = new Map<number, MultiplexedStream>();
  protected readonly ended = Promise.withResolvers<ConnectionError>();
  protected isDraining = false;

  protected constructor(address: string, held: HeldBytes) {
    this.address = address;
    this.held = held;
  }

  get openStreams(): number {
    return this.streams.size;
  }

  get closed(): Promise<ConnectionError> {
    return this.ended.promise;
  }

  abstract openStream(): MultiplexedStream;

  abstract close(code?: number, reason?: string): Promise<void>;

  async drain(): Promise<void> {
    this.isDraining = true;
    if (this.streams.size === 0) await this.close();
    await this.closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Both directions of a stream have ended, or the exchange broke. */
  forget(stream: MultiplexedStream, _isBroken: boolean): void {
    this.streams.delete(stream.id);
    if (this.isDraining && this.streams.size === 0)
      background(this.close(), "Closing a connection");
  }

  /** Gives up requests that the peer left unfinished. Called at intervals. */
  dropStale(): void {
    for (const stream of this.streams.values()) {
      if (!stream.isStale()) continue;
      const message = `Cannot wait longer for a request of ${this.peer?.name ?? "a client"}: it stays unfinished.`;
      stream.breakOff(new ConnectionError("timeout", message));
    }
  }

  protected failStreams(error: ConnectionError): void {
    for (const stream of this.streams.values()) stream.fail(error);
  }
}

/** A stream that shares its carrier with others. */
export class MultiplexedStream implements BidiStream {
  readonly id: number;
  readonly #carrier: FrameCarrier;
  readonly #connection: MultiplexedConnection;
  readonly #receiver: StreamReceiver;
  readonly #sender: StreamSender;
  /** Something was sent on it, or came. */
  isOpened: boolean;
  #isPatient = false;
  readonly #controller = new AbortController();
  readonly signal: AbortSignal = this.#controller.signal;
  #isOver = false;

  constructor(
    carrier: FrameCarrier,
    connection: MultiplexedConnection,
    id: number,
    isOpened: boolean,
  ) {
    this.id = id;
    this.#carrier = carrier;
    this.#connection = connection;
    this.isOpened = isOpened;
    this.#receiver = new StreamReceiver(this);
    this.#sender = new StreamSender(this, connection.writeWindow);
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#sender.add(bytes, false);
  }

  end(bytes: Uint8Array = new Uint8Array()): Promise<void> {
    const sent = this.#sender.add(bytes, true);
    this.#settle();
    return sent;
  }

  readAll(limit: number, refuse?: PrefixCheck): Promise<Buffer> {
    return this.#receiver.readAll(limit, refuse);
  }

  chunks(): AsyncGenerator<Buffer, void, void> {
    return this.#receiver.chunks();
  }

  patient(): void {
    this.#isPatient = true;
  }

  reset(code = 0): void {
    const message = `Cannot continue the exchange with ${this.#connection.address}: it was cancelled on this side.`;
    this.breakOff(new ConnectionError("cancelled", message), code);
  }

  /** Bytes came. They are lent. */
  receive(bytes: Buffer, isLast: boolean): void {
    this.#receiver.push(bytes, isLast);
    this.#settle();
  }

  giveRoom(bytes: number): void {
    this.#sender.giveRoom(bytes);
    this.#settle();
  }

  resetByPeer(code: number): void {
    const { address } = this.#connection;
    const message = `Cannot continue the exchange with ${address}: the other side aborted it (code ${code}).`;
    this.fail(new ConnectionError("reset", message, code));
  }

  fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#connection.forget(this, true);
    this.#receiver.fail(error);
    this.#sender.fail(error);
    this.#controller.abort(error);
  }

  /** Whether nothing of an unfinished request came for a while. Called at intervals. */
  isStale(): boolean {
    // Until it is answered, the peer need not send anything.
    if (this.#isPatient && !this.#sender.isDone) this.#receiver.wasHeard = true;
    return this.#receiver.isSilent();
  }

  get held(): HeldBytes {
    return this.#connection.held;
  }

  /** The other side has read this many bytes, so as many may follow. */
  grant(bytes: number): void {
    this.#carrier.sendNumber(COMMAND.credit, this.id, bytes);
  }

  breakOff(error: ConnectionError, code = 0): void {
    if (this.#isOver) return;
    if (this.isOpened) this.#carrier.sendNumber(COMMAND.reset, this.id, code);
    this.fail(error);
  }

  /** Sends a piece, for which there is room. */
  pass(piece: Uint8Array, isLast: boolean): void {
    const flags = (this.isOpened ? 0 : FIRST) | (isLast ? LAST : 0);
    const lead = this.isOpened ? undefined : this.#connection.lead;
    this.isOpened = true;
    this.#carrier.send(COMMAND.write, flags, this.id, piece, lead);
  }

  #settle(): void {
    if (this.#isOver || !this.#receiver.isEnded || !this.#sender.isDone) return;
    this.#isOver = true;
    this.#connection.forget(this, false);
  }
}

/** A stream is silent after this many intervals without a byte. */
const SILENT = 2;
/** Flow control credit is sent in steps: a message for each small piece would cost more than the piece. */
const STEP = 128 * 1024;

interface WholeRead {
  readonly limit: number;
  /** Not looked at yet. */
  refuse: PrefixCheck | undefined;
  readonly promise: PromiseWithResolvers<Buffer>;
}

type ReceiverOwner = Pick<MultiplexedStream, "held" | "grant" | "breakOff">;

/** The receiving half of a stream (RFC 9000 § 3.2): keeps what arrives until it is read. */
export class StreamReceiver {
  readonly #owner: ReceiverOwner;
  #chunks: Buffer[] = [];
  #size = 0;
  #owed = 0;
  isEnded = false;
  #error: Error | undefined;
  #whole: WholeRead | undefined;
  #next: PromiseWithResolvers<void> | undefined;
  /** Whether something arrived since this was last set to false. */
  wasHeard = true;
  #silent = 0;

  constructor(owner: ReceiverOwner) {
    this.#owner = owner;
  }

  /**
   * Whether it has not ended and nothing came for two intervals. Called once in each: one alone says
   * nothing where the whole program stood still meanwhile.
   */
  isSilent(): boolean {
    this.#silent = this.wasHeard ? 0 : this.#silent + 1;
    this.wasHeard = false;
    return !this.isEnded && this.#silent >= SILENT;
  }

  /** The bytes are lent. */
  push(bytes: Buffer, isLast: boolean): void {
    this.wasHeard = true;
    this.isEnded ||= isLast;
    if (bytes.length > 0) {
      // A copy: what is lent is a small part of a large buffer, and would keep all of it.
      this.#chunks.push(Buffer.from(bytes));
      this.#size += bytes.length;
      this.#owner.held.add(this, bytes.length);
      // `held.add` may have aborted this stream, because too much is held.
      if (this.#error !== undefined) return;
    }
    if (this.#whole !== undefined) this.#fill(this.#whole, bytes.length);
    this.#next?.resolve();
  }

  fail(error: Error): void {
    if (this.#error !== undefined) return;
    const isWhole = this.isEnded && this.#whole === undefined;
    // A stream that has arrived whole can still be read.
    if (isWhole) return;
    this.#error = error;
    this.#whole?.promise.reject(error);
    this.#letGo();
    this.#next?.resolve();
  }

  /** All streams together have too many unread bytes, so this one is broken off. */
  giveUp(held: number, limit: number): void {
    const message = `Cannot hold ${held} unread bytes: the limit of a connection is ${limit}.`;
    this.#owner.breakOff(new ConnectionError("limit", message));
  }

  readAll(limit: number, refuse?: PrefixCheck): Promise<Buffer> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    const promise = Promise.withResolvers<Buffer>();
    this.#whole = { limit, refuse, promise };
    this.#fill(this.#whole, this.#size);
    return promise.promise;
  }

  async *chunks(): AsyncGenerator<Buffer, void, void> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#size -= chunk.length;
        this.#owner.held.remove(chunk.length);
        this.#took(chunk.length);
        yield chunk;
      } else if (this.#error !== undefined) {
        throw this.#error;
      } else if (this.isEnded) {
        this.#letGo();
        return;
      } else {
        this.#next = Promise.withResolvers();
        await this.#next.promise;
        this.#next = undefined;
      }
    }
  }

  /** More bytes have arrived for a reader that wants the whole stream. */
  #fill(whole: WholeRead, bytes: number): void {
    const { limit, promise } = whole;
    const problem = this.#problemOf(whole);
    if (problem !== undefined) {
      this.#owner.breakOff(new ConnectionError("limit", problem));
    } else if (this.#size > limit) {
      const message = `Cannot read the whole stream: it is longer than the limit of ${limit} bytes.`;
      this.#owner.breakOff(new ConnectionError("limit", message));
    } else if (this.isEnded) {
      promise.resolve(this.#joined());
      this.#letGo();
    } else {
      this.#took(bytes);
    }
  }

  #joined(): Buffer {
    const [first = Buffer.alloc(0)] = this.#chunks;
    return this.#chunks.length > 1 ? Buffer.concat(this.#chunks, this.#size) : first;
  }

  #problemOf(whole: WholeRead): string | undefined {
    const { refuse } = whole;
    if (refuse === undefined || this.#size < refuse.length) return undefined;
    whole.refuse = undefined;
    const [first = Buffer.alloc(0)] = this.#chunks;
    const isEnough = first.length >= refuse.length;
    return refuse.problem(isEnough ? first : Buffer.concat(this.#chunks, refuse.length));
  }

  #took(bytes: number): void {
    if (this.isEnded) return;
    this.#owed += bytes;
    if (this.#owed < STEP) return;
    this.#owner.grant(this.#owed);
    this.#owed = 0;
  }

  #letGo(): void {
    this.#owner.held.leave(this, this.#size);
    this.#whole = undefined;
    this.#chunks = [];
    this.#size = 0;
  }
}

/** Leaves room in a payload for what precedes the bytes that open a stream. */
const PIECE = LONGEST_PAYLOAD - 4;

interface PendingWrite {
  bytes: Uint8Array;
  readonly isLast: boolean;
  readonly promise: PromiseWithResolvers<void>;
}

const SENT = Promise.resolve();

type SenderOwner = Pick<MultiplexedStream, "pass">;

/** The sending half of a stream (RFC 9000 § 3.1): passes bytes on in pieces, as far as there is room. */
export class StreamSender {
  readonly #owner: SenderOwner;
  readonly #waiting: PendingWrite[] = [];
  #room: number;
  #isEnded = false;
  #error: Error | undefined;

  constructor(owner: SenderOwner, room: number) {
    this.#owner = owner;
    this.#room = room;
  }

  /** Everything was passed on. */
  get isDone(): boolean {
    return this.#isEnded && this.#waiting.length === 0;
  }

  /** Resolves when all of it was passed on. */
  add(bytes: Uint8Array, isLast: boolean): Promise<void> {
    if (this.#error !== undefined) return handled(Promise.reject(this.#error));
    if (this.#isEnded) throw new Error("Cannot send more: the end of the stream was sent.");
    this.#isEnded = isLast;
    if (this.#waiting.length === 0 && bytes.length <= this.#room) {
      this.#pass(bytes, isLast);
      return SENT;
    }
    const promise = Promise.withResolvers<void>();
    this.#waiting.push({ bytes, isLast, promise });
    this.#passWaiting();
    return handled(promise.promise);
  }

  giveRoom(bytes: number): void {
    this.#room += bytes;
    this.#passWaiting();
  }

  fail(error: Error): void {
    this.#error ??= error;
    for (const { promise } of this.#waiting.splice(0)) promise.reject(this.#error);
  }

  #passWaiting(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const part = first.bytes.subarray(0, this.#room);
      const isWhole = part.length === first.bytes.length;
      if (part.length === 0 && !isWhole) return;
      this.#pass(part, isWhole && first.isLast);
      if (!isWhole) {
        first.bytes = first.bytes.subarray(part.length);
        return;
      }
      this.#waiting.shift();
      first.promise.resolve();
    }
  }

  #pass(bytes: Uint8Array, isLast: boolean): void {
    this.#room -= bytes.length;
    let at = 0;
    do {
      const piece = bytes.subarray(at, at + PIECE);
      at += piece.length;
      this.#owner.pass(piece, isLast && at === bytes.length);
    } while (at < bytes.length);
  }
}

/** A caller that does not wait for it learns of the failure from the stream. */
function handled(promise: Promise<void>): Promise<void> {
  promise.catch(() => {});
  return promise;
}

type Holder = Pick<StreamReceiver, "giveUp">;

/**
 * Counts the bytes of a connection that have arrived and were not read yet. RFC 9000 § 4.1: unread
 * bytes use up the flow control window of the whole connection. So a stream whose bytes exceed the
 * bound does not make the others wait: the stream that began last is broken off.
 */
export class HeldBytes {
  readonly #limit: number;
  readonly #holders = new Set<Holder>();
  held = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(holder: Holder, bytes: number): void {
    this.#holders.add(holder);
    this.held += bytes;
    if (this.held > this.#limit) [...this.#holders].at(-1)?.giveUp(this.held, this.#limit);
  }

  /** Bytes were read. */
  remove(bytes: number): void {
    this.held -= bytes;
  }

  /** A holder is done, and its remaining bytes are dropped. */
  leave(holder: Holder, bytes: number): void {
    this.held -= bytes;
    this.#holders.delete(holder);
  }
}
