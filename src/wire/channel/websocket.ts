import { isUtf8 } from "node:buffer";
import type { Duplex } from "node:stream";
import type { RawData, WebSocket } from "ws";
import { aboutToSend, justSent } from "../../base/event-loop.ts";
import { ByteReservation } from "../../base/limit/byte-budget.ts";
import { readHold } from "./read-hold.ts";
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

/** What a `WebSocket` or `WebSocketServer` must be made with. */
export function webSocketSettings(limits: Partial<ChannelLimits> = {}) {
  // Twice the limit: a frame somewhat too large is answered, one far too large ends the connection.
  // Compression costs 170 KB for each connection and four fifths of the speed.
  const maxPayload = 2 * resolveChannelLimits(limits).maxMessage;
  return { maxPayload, perMessageDeflate: false, skipUTF8Validation: true } as const;
}

/**
 * A channel of text frames. The socket must have been made with `webSocketSettings`, which let this
 * channel report a frame that is too large or not UTF-8 instead of closing on it.
 */
export function webSocketChannel(
  ws: WebSocket,
  { limits: given, socket }: WebSocketChannelOptions = {},
): Channel<string> {
  const limits = resolveChannelLimits(given);
  const closed = Promise.withResolvers<void>();
  let receiver: Sink<string> | undefined;
  let failure: Error | undefined;
  let disposed = false;
  /** Frames of this turn of the event loop. */
  let queued: string[] = [];
  let queuedCharacters = 0;
  const reading = readHold(ws);
  let room: PromiseWithResolvers<void> | undefined;
  /** About how many bytes of an unfinished message have arrived, counted by what the socket reads. */
  const unfinished = new ByteReservation();
  let arrivedBytes = 0;
  let controlBytes = 0;
  let hasFinished = false;
  const unsent = new ByteReservation();
  /** RFC 6455 § 5.4: a control frame may come between the fragments of a message. */
  const control = (data: Buffer): void => {
    controlBytes += data.length + CONTROL_HEAD;
  };
  const arrived = (chunk: Buffer): void => {
    const bytes = hasFinished ? 0 : arrivedBytes + chunk.length - controlBytes;
    arrivedBytes = Math.max(0, bytes);
    controlBytes = 0;
    hasFinished = false;
    if (unfinished.set(arrivedBytes)) return;
    socket?.off("data", arrived);
    failure ??= new Error("Too much is being sent to this server at once");
    flush();
    ws.close(TRY_AGAIN_LATER, "Too much is being sent at once");
    // Nothing more is read. A client that does not close the connection is disconnected soon.
    ws.pause();
    setTimeout(() => ws.terminate(), limits.closeGrace).unref();
  };
  const message = (data: RawData, isBinary: boolean): void => {
    hasFinished = true;
    const bytes = Buffer.isBuffer(data) ? data : Buffer.concat(data as Buffer[]);
    const limit = limits.maxMessage;
    const isOversize = bytes.length > limit;
    if (isOversize || isBinary || !isUtf8(bytes)) {
      // A binary message has no readable id, whatever its size.
      const kind = isBinary || !isOversize ? "encoding" : "oversize";
      const head = bytes.subarray(0, 4096).toString();
      const tail = bytes.subarray(-256).toString();
      receiver?.fault({ kind, size: bytes.length, limit, head, tail });
      return;
    }
    const hold = receiver?.message(bytes.toString());
    if (hold !== undefined) reading.until(hold);
  };
  const flush = (): void => {
    const queue = queued;
    if (queue.length === 0) return;
    queued = [];
    queuedCharacters = 0;
    if (ws.readyState !== ws.OPEN) return;
    aboutToSend();
    socket?.write(encodeTextFrames(queue), sent);
    justSent();
  };
  const sent = (): void => {
    if (socket !== undefined) unsent.set(ws.bufferedAmount);
    if (room === undefined || ws.bufferedAmount > limits.highWater) return;
    releaseSenders();
  };
  const abort = (reason: Error): void => {
    failure ??= reason;
    ws.terminate();
    end(reason);
  };
  const enqueue = (message: string): void => {
    if (queued.push(message) === 1) setImmediate(flush);
    queuedCharacters += message.length;
    if (queuedCharacters > MOST_QUEUED) flush();
  };
  const releaseSenders = (): void => {
    room?.resolve();
    room = undefined;
  };
  const wasClosed = (code: number): void => {
    closed.resolve();
    unfinished.set(0);
    unsent.set(0);
    const isOrderly = code === NORMAL || code === GOING_AWAY || code === NO_STATUS;
    end(isOrderly ? undefined : (failure ?? new Error(`WebSocket closed: ${code}`)));
  };
  const end = (error?: Error): void => {
    releaseSenders();
    const sink = receiver;
    receiver = undefined;
    sink?.end(error);
  };
  ws.on("error", (error) => (failure ??= error));
  ws.on("close", (code) => wasClosed(code));
  ws.pause();
  if (socket !== undefined) {
    ws.on("ping", control);
    ws.on("pong", control);
    // After the library's own listener, which has found all messages that end in the chunk.
    socket.on("data", arrived);
  }
  return {
    receive(sink) {
      receiver = sink;
      if (ws.readyState === ws.CLOSED) {
        end(failure ?? new Error("WebSocket is closed"));
        return;
      }
      ws.on("message", message);
      ws.resume();
    },
    send(message) {
      if (disposed || ws.readyState !== ws.OPEN) return ROOM;
      if (socket !== undefined) enqueue(message);
      else {
        aboutToSend();
        ws.send(message, sent);
        justSent();
      }
      const bufferedAmount = ws.bufferedAmount + queuedCharacters;
      const hasRoom = socket === undefined || unsent.set(bufferedAmount);
      if (bufferedAmount <= limits.highWater && hasRoom) return ROOM;
      if (bufferedAmount > limits.maxUnsent || !hasRoom) {
        abort(new SlowReaderError(bufferedAmount, limits.maxUnsent));
        return ROOM;
      }
      room ??= Promise.withResolvers<void>();
      return room.promise;
    },
    abort,
    async [Symbol.asyncDispose]() {
      disposed = true;
      receiver = undefined;
      if (ws.readyState === ws.CLOSED) return;
      ws.resume();
      flush();
      ws.close(NORMAL);
      const timer = setTimeout(() => ws.terminate(), limits.closeGrace);
      await closed.promise;
      clearTimeout(timer);
    },
  };
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
