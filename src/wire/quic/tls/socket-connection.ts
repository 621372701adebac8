import type { Duplex } from "node:stream";
import type { ConnectionLimits, PeerCertificate } from "../connection.ts";
import { ConnectionError, tlsTrouble } from "../connection-error.ts";
import { COMMAND, EVENT, FIRST, LAST, LONGEST_PAYLOAD, readFrames } from "../control-frame.ts";
import { FrameWriter } from "../frame-writer.ts";
import type { EndReason } from "../settings.ts";
import {
  type FrameCarrier,
  HeldBytes,
  MultiplexedConnection,
  MultiplexedStream,
} from "../stream/multiplexed-stream.ts";

export interface SocketConnectionOptions {
  readonly address: string;
  /** Who showed this certificate over TLS. */
  readonly peer: PeerCertificate | undefined;
  readonly limits: ConnectionLimits;
  readonly held?: HeldBytes | undefined;
  /** The other side opened a stream. Only a listener's connections have it. */
  readonly accept?: (stream: MultiplexedStream, connection: SocketConnection) => void;
  /** Called with each further frame while the other side leaves much unread. */
  readonly crowded?: () => void;
}

/** Bytes of a stream that are on their way before the reader says that it took some. */
const WINDOW = 256 * 1024;
/** Bytes that the other side may leave in our socket. Then it is cut off. */
const MOST_UNSENT = 128 * 1024 * 1024;
/** Unsent bytes of one connection from which on the listener is told, which limits all of them together. */
const MUCH_UNSENT = 1024 * 1024;
/** Milliseconds for what was sent last to leave. */
const CLOSING = 5_000;

type Frame = Parameters<SocketConnection["send"]>;

/**
 * A connection over TLS 1.3. Its streams share one socket, in the frames that the QUIC engine's pipe
 * has, too. Whoever dialled opens streams; the listener first says how many may be open at once.
 */
export class SocketConnection extends MultiplexedConnection implements FrameCarrier {
  readonly peer: PeerCertificate | undefined;
  readonly writeWindow = WINDOW;
  readonly lead = undefined;
  /** Resolves when the other side has let us in. */
  readonly ready: Promise<void>;
  readonly #ready = Promise.withResolvers<void>();
  readonly #socket: Duplex;
  readonly #writer: FrameWriter;
  readonly #accept: SocketConnectionOptions["accept"];
  readonly #crowded: SocketConnectionOptions["crowded"];
  /** Frames of streams that wait until another stream ends. */
  readonly #waiting = new Map<number, Frame[]>();
  #maxStreams: number;
  /** How many of our own streams the other side knows of. */
  #opened = 0;
  #rest: Buffer | undefined;
  #lastId = 0;
  #isReady: boolean;
  #over: ConnectionError | undefined;

  constructor(socket: Duplex, options: SocketConnectionOptions) {
    const { address, peer, limits, held, accept, crowded } = options;
    super(address, held ?? new HeldBytes(limits.maxHeld));
    this.peer = peer;
    this.#socket = socket;
    this.#writer = new FrameWriter(socket);
    this.#accept = accept;
    this.#crowded = crowded;
    this.#maxStreams = limits.maxStreams;
    this.#isReady = accept !== undefined;
    this.ready = this.#ready.promise;
    this.ready.catch(() => {});
    socket.on("error", (error) => this.#end(this.#troubleOf(error)));
    socket.on("close", () => this.#end(this.#troubleOf(undefined)));
    socket.on("end", () => this.#end(this.#troubleOf(undefined)));
  }

  /** Begins to read. A listener's connection tells the other side that it is let in. */
  start(): void {
    this.#socket.on("data", (bytes: Buffer) => this.#receive(bytes));
    if (this.#accept !== undefined) this.sendNumber(EVENT.connected, 0, this.#maxStreams);
  }

  /** Bytes that the other side has not taken yet. */
  get unsent(): number {
    return this.#socket.writableLength + this.#writer.gathered;
  }

  get isClosed(): boolean {
    return this.isDraining || this.#over !== undefined;
  }

  openStream(): MultiplexedStream {
    if (this.#accept !== undefined) {
      throw new Error("Cannot open a stream to a client over TLS: only clients open them.");
    }
    do this.#lastId = (this.#lastId + 1) >>> 0;
    while (this.streams.has(this.#lastId));
    const stream = this.#add(this.#lastId, false);
    if (this.isClosed) stream.fail(this.#over ?? this.#trouble("it is being closed"));
    return stream;
  }

  async close(): Promise<void> {
    this.#end(this.#trouble("it was closed"));
    await this.closed;
  }

  send(kind: number, flags: number, id: number, payload?: Uint8Array): void {
    const waiting = this.#waiting.size === 0 ? undefined : this.#waiting.get(id);
    if (waiting !== undefined) {
      waiting.push([kind, flags, id, payload]);
      return;
    }
    if ((flags & FIRST) !== 0 && this.#accept === undefined) {
      if (this.#opened >= this.#maxStreams) {
        this.#waiting.set(id, [[kind, flags, id, payload]]);
        return;
      }
      this.#opened++;
    }
    this.#write(kind, flags, id, payload);
  }

  sendNumber(kind: number, id: number, value: number): void {
    // The other side does not know a stream that still waits, so it cannot reset it.
    if (!this.#waiting.has(id)) this.#write(kind, 0, id, undefined, value);
  }

  override forget(stream: MultiplexedStream, isBroken: boolean): void {
    if (!this.#waiting.delete(stream.id) && stream.isOpened && this.#accept === undefined) {
      this.#opened--;
      this.#openNext();
    }
    super.forget(stream, isBroken);
  }

  #write(kind: number, flags: number, id: number, payload?: Uint8Array, lead?: number): void {
    if (this.#over !== undefined) return;
    this.#writer.send(kind, flags, id, payload, lead);
    const { unsent } = this;
    if (unsent > MOST_UNSENT) this.cutUnread();
    else if (unsent > MUCH_UNSENT) this.#crowded?.();
  }

  /** Ends it at once, with what waits to be sent. */
  cutUnread(): void {
    this.#cut({ trouble: "limit", detail: "it does not take what it is sent" });
  }

  #openNext(): void {
    if (this.#waiting.size === 0 || this.#opened >= this.#maxStreams) return;
    for (const [id, frames] of this.#waiting) {
      this.#waiting.delete(id);
      this.#opened++;
      for (const frame of frames) this.#write(...frame);
      return;
    }
  }

  #add(id: number, isOpened: boolean): MultiplexedStream {
    const stream = new MultiplexedStream(this, this, id, isOpened);
    this.streams.set(stream.id, stream);
    return stream;
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    try {
      const done = readFrames(bytes, this.#take);
      this.#rest = done < bytes.length ? bytes.subarray(done) : undefined;
    } catch {
      this.#cut({ trouble: "protocol", detail: "it sent a frame that cannot be read" });
    }
    const length = (this.#rest?.length ?? 0) < 4 ? 0 : (this.#rest?.readUInt32LE() ?? 0);
    if (length <= LONGEST_PAYLOAD) return;
    const detail = `a frame of ${length} bytes was announced, the limit is ${LONGEST_PAYLOAD}`;
    this.#cut({ trouble: "limit", detail });
  }

  readonly #take = (kind: number, flags: number, id: number, payload: Buffer): void => {
    if (this.#over !== undefined) return;
    switch (kind) {
      case EVENT.data:
        return this.#data(flags, id, payload);
      case EVENT.room:
        return this.streams.get(id)?.giveRoom(payload.readUInt32LE());
      case EVENT.reset:
        return this.streams.get(id)?.resetByPeer(payload.readUInt32LE());
      case EVENT.connected:
        if (this.#accept !== undefined) return;
        this.#isReady = true;
        this.#maxStreams = payload.readUInt32LE();
        this.#ready.resolve();
    }
  };

  #data(flags: number, id: number, payload: Buffer): void {
    const isLast = (flags & LAST) !== 0;
    const known = this.streams.get(id);
    if ((flags & FIRST) === 0 || this.#accept === undefined) {
      // It may have ended while the bytes were on their way.
      known?.receive(payload, isLast);
      return;
    }
    if (known !== undefined || this.streams.size >= this.#maxStreams) {
      this.#cut({ trouble: "limit", detail: `it opened more than ${this.#maxStreams} streams` });
      return;
    }
    if (this.isClosed) return this.sendNumber(COMMAND.reset, id, 0);
    const stream = this.#add(id, true);
    stream.receive(payload, isLast);
    this.#accept(stream, this);
  }

  /** Ends it at once, because of something that the other side does. */
  #cut(ending: EndReason): void {
    this.#end(ConnectionError.of(this.#what, ending));
    this.#socket.destroy();
  }

  #end(error: ConnectionError): void {
    if (this.#over !== undefined) return;
    this.#writer.flush();
    this.#over = error;
    this.#ready.reject(error);
    this.failStreams(error);
    const late = setTimeout(() => this.#socket.destroy(), CLOSING);
    const gone = (): void => {
      clearTimeout(late);
      this.ended.resolve(error);
    };
    if (this.#socket.closed) gone();
    else this.#socket.once("close", gone);
    this.#socket.end(() => this.#socket.destroy());
  }

  get #what(): string {
    const whom = this.#accept === undefined ? this.address : `a client of ${this.address}`;
    return `Cannot continue with ${whom}`;
  }

  #trouble(detail: string): ConnectionError {
    return ConnectionError.of(this.#what, { trouble: "closed", detail });
  }

  #troubleOf(error: Error | undefined): ConnectionError {
    if (!this.#isReady) return notLetIn(this.#what, error);
    if (error === undefined) {
      return ConnectionError.of(this.#what, { trouble: "closed", detail: "", byPeer: true });
    }
    return ConnectionError.of(this.#what, { trouble: tlsTrouble(error), detail: error.message });
  }
}

/** Why a connection ended before the other side has let us in. */
function notLetIn(what: string, error?: Error): ConnectionError {
  const trouble = error === undefined ? "network" : tlsTrouble(error);
  if (error !== undefined && trouble !== "network") {
    return ConnectionError.of(what, { trouble, detail: error.message });
  }
  const detail =
    "the server hung up after the handshake: it does not accept our certificate, or we showed none";
  return ConnectionError.of(what, { trouble: "bad-certificate", detail });
}
