import { isUtf8 } from "node:buffer";
import type { Duplex } from "node:stream";
import type { RawData, WebSocket } from "ws";
import { aboutToSend, justSent } from "../../base/event-loop.ts";
import { ByteReservation } from "../../base/limit/byte-budget.ts";
import { ReadHold } from "./read-hold.ts";
import {
  type Channel,
  type ChannelLimits,
  resolveChannelLimits,
  ROOM,
  type Sink,
  SlowReaderError,
} from "../channel.ts";

/** RFC 6455 § 7.4.1: close codes that end a conversation without a fault. */
const NORMAL = 1000;
const GOING_AWAY = 1001;
const NO_STATUS = 1005;
/** RFC 6455 § 11.7, as registered with IANA: the server is overloaded. */
const TRY_AGAIN_LATER = 1013;
/** RFC 6455 § 5.2: bytes of a masked control frame besides its data. */
const CONTROL_HEAD = 6;
/** Characters of queued frames that are written before the turn of the event loop ends. */
const MOST_QUEUED = 64 * 1024;

export interface WebSocketChannelOptions {
  readonly limits?: Partial<ChannelLimits>;
  /**
   * The TCP connection, on a server. If it is known, all frames of one turn of the event loop are one write.
   */
  readonly socket?: Duplex;
}

/**
 * A channel of text frames. The socket must have been made with `webSocketSettings`, which let this
 * channel report a frame that is too large or not UTF-8 instead of closing on it.
 */
export function webSocketChannel(
  ws: WebSocket,
  options: WebSocketChannelOptions = {},
): Channel<string> {
  return new WebSocketChannel(ws, options);
}

/** What a `WebSocket` or `WebSocketServer` must be made with. */
export function webSocketSettings(limits: Partial<ChannelLimits> = {}): {
  maxPayload: number;
  perMessageDeflate: false;
  skipUTF8Validation: true;
} {
  // Twice the limit: a frame somewhat too large is answered, one far too large ends the connection.
  // Compression costs 170 KB for each connection and four fifths of the speed.
  const maxPayload = 2 * resolveChannelLimits(limits).maxMessage;
  return { maxPayload, perMessageDeflate: false, skipUTF8Validation: true };
}

class WebSocketChannel implements Channel<string> {
  readonly #ws: WebSocket;
  readonly #socket: Duplex | undefined;
  readonly #limits: ChannelLimits;
  readonly #closed = Promise.withResolvers<void>();
  #sink: Sink<string> | undefined;
  #failure: Error | undefined;
  #disposed = false;
  /** Frames of this turn of the event loop. */
  #queue: string[] = [];
  #queuedCharacters = 0;
  readonly #hold: ReadHold;
  #room: PromiseWithResolvers<void> | undefined;
  /** About how many bytes of an unfinished message have arrived, counted by what the socket reads. */
  readonly #unfinished = new ByteReservation();
  #arrivedBytes = 0;
  #controlBytes = 0;
  #hasFinished = false;
  readonly #unsent = new ByteReservation();

  constructor(ws: WebSocket, options: WebSocketChannelOptions) {
    this.#ws = ws;
    this.#hold = new ReadHold(ws);
    this.#socket = options.socket;
    this.#limits = resolveChannelLimits(options.limits);
    ws.on("error", (error) => (this.#failure ??= error));
    ws.on("close", (code) => this.#wasClosed(code));
    ws.pause();
    if (this.#socket === undefined) return;
    ws.on("ping", this.#control);
    ws.on("pong", this.#control);
    // After the library's own listener, which has found all messages that end in the chunk.
    this.#socket.on("data", this.#arrived);
  }

  receive(sink: Sink<string>): void {
    this.#sink = sink;
    if (this.#ws.readyState === this.#ws.CLOSED) {
      this.#end(this.#failure ?? new Error("WebSocket is closed"));
      return;
    }
    this.#ws.on("message", this.#message);
    this.#ws.resume();
  }

  send(message: string): Promise<void> {
    if (this.#disposed || this.#ws.readyState !== this.#ws.OPEN) return ROOM;
    if (this.#socket !== undefined) this.#enqueue(message);
    else {
      aboutToSend();
      this.#ws.send(message, this.#sent);
      justSent();
    }
    const bufferedAmount = this.#ws.bufferedAmount + this.#queuedCharacters;
    const hasRoom = this.#socket === undefined || this.#unsent.set(bufferedAmount);
    if (bufferedAmount <= this.#limits.highWater && hasRoom) return ROOM;
    if (bufferedAmount > this.#limits.maxUnsent || !hasRoom) {
      this.abort(new SlowReaderError(bufferedAmount, this.#limits.maxUnsent));
      return ROOM;
    }
    this.#room ??= Promise.withResolvers<void>();
    return this.#room.promise;
  }

  abort(reason: Error): void {
    this.#failure ??= reason;
    this.#ws.terminate();
    this.#end(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    this.#sink = undefined;
    if (this.#ws.readyState === this.#ws.CLOSED) return;
    this.#ws.resume();
    this.#flush();
    this.#ws.close(NORMAL);
    const timer = setTimeout(() => this.#ws.terminate(), this.#limits.closeGrace);
    await this.#closed.promise;
    clearTimeout(timer);
  }

  /** RFC 6455 § 5.4: a control frame may come between the fragments of a message. */
  readonly #control = (data: Buffer): void => {
    this.#controlBytes += data.length + CONTROL_HEAD;
  };

  readonly #arrived = (chunk: Buffer): void => {
    const bytes = this.#hasFinished ? 0 : this.#arrivedBytes + chunk.length - this.#controlBytes;
    this.#arrivedBytes = Math.max(0, bytes);
    this.#controlBytes = 0;
    this.#hasFinished = false;
    if (this.#unfinished.set(this.#arrivedBytes)) return;
    this.#socket?.off("data", this.#arrived);
    this.#failure ??= new Error("Too much is being sent to this server at once");
    this.#flush();
    this.#ws.close(TRY_AGAIN_LATER, "Too much is being sent at once");
    // Nothing more is read. A client that does not close the connection is disconnected soon.
    this.#ws.pause();
    setTimeout(() => this.#ws.terminate(), this.#limits.closeGrace).unref();
  };

  readonly #message = (data: RawData, isBinary: boolean): void => {
    this.#hasFinished = true;
    const bytes = Buffer.isBuffer(data) ? data : Buffer.concat(data as Buffer[]);
    const limit = this.#limits.maxMessage;
    const isOversize = bytes.length > limit;
    if (isOversize || isBinary || !isUtf8(bytes)) {
      // A binary message has no readable id, whatever its size.
      const kind = isBinary || !isOversize ? "encoding" : "oversize";
      const head = bytes.subarray(0, 4096).toString();
      const tail = bytes.subarray(-256).toString();
      this.#sink?.fault({ kind, size: bytes.length, limit, head, tail });
      return;
    }
    const hold = this.#sink?.message(bytes.toString());
    if (hold !== undefined) this.#hold.until(hold);
  };

  #enqueue(message: string): void {
    if (this.#queue.push(message) === 1) setImmediate(this.#flush);
    this.#queuedCharacters += message.length;
    if (this.#queuedCharacters > MOST_QUEUED) this.#flush();
  }

  readonly #flush = (): void => {
    const queue = this.#queue;
    if (queue.length === 0) return;
    this.#queue = [];
    this.#queuedCharacters = 0;
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    aboutToSend();
    this.#socket?.write(encodeTextFrames(queue), this.#sent);
    justSent();
  };

  readonly #sent = (): void => {
    if (this.#socket !== undefined) this.#unsent.set(this.#ws.bufferedAmount);
    if (this.#room === undefined || this.#ws.bufferedAmount > this.#limits.highWater) return;
    this.#releaseSenders();
  };

  #releaseSenders(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }

  #wasClosed(code: number): void {
    this.#closed.resolve();
    this.#unfinished.set(0);
    this.#unsent.set(0);
    const isOrderly = code === NORMAL || code === GOING_AWAY || code === NO_STATUS;
    this.#end(isOrderly ? undefined : (this.#failure ?? new Error(`WebSocket closed: ${code}`)));
  }

  #end(error?: Error): void {
    this.#releaseSenders();
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.end(error);
  }
}

/** RFC 6455 § 5.2: the first byte of a whole, uncompressed text message. */
const TEXT = 0x81;
/** RFC 6455 § 5.2: payloads above these lengths need longer headers. */
const SHORT = 125;
const MEDIUM = 0xffff;

/** The frames of a server for these messages, in one buffer: one entry in the socket's queue. */
export function encodeTextFrames(messages: readonly string[]): Buffer {
  const parts = messages.flatMap((message) => {
    const payload = Buffer.from(message);
    return [headerOf(payload.length), payload];
  });
  return Buffer.concat(parts);
}

function headerOf(size: number): Buffer {
  if (size <= SHORT) return Buffer.of(TEXT, size);
  if (size <= MEDIUM) {
    const header = Buffer.of(TEXT, SHORT + 1, 0, 0);
    header.writeUInt16BE(size, 2);
    return header;
  }
  const header = Buffer.alloc(10);
  header.writeUInt16BE((TEXT << 8) | (SHORT + 2));
  header.writeBigUInt64BE(BigInt(size), 2);
  return header;
}
