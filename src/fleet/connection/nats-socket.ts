import { Duplex } from "node:stream";
import type { Subscription } from "@nats-io/transport-node";
import type { FleetConnection } from "./connect.ts";

/** The kinds of frames between the two ends of a connection. */
export const DATA = 0;
/** The sender has finished sending; it still reads. */
export const END = 1;
/** Nothing new: the sender is alive. */
export const STATE = 2;
/** The sender is gone. Its text says why. */
export const RESET = 3;

/** Bytes before the data of a frame: its kind and its number. */
const HEADER = 5;
/** Bytes of a number in a message of kind `STATE`. */
const COUNT = 6;
const NUMBERS = 2 ** 32;

interface Frame {
  readonly kind: number;
  readonly number: number;
  readonly data: Buffer;
}

/**
 * The next frame number. Only data and end frames are counted: they carry the number of those before them,
 * and other frames the number sent so far. So every frame shows whether one was lost.
 */
export function following(number: number): number {
  return (number + 1) % NUMBERS;
}

export function encodeFrame(kind: number, number: number, ...data: readonly Buffer[]): Buffer {
  const header = Buffer.alloc(HEADER, kind);
  header.writeUInt32BE(number, 1);
  return Buffer.concat([header, ...data]);
}

/** `consumed` counts all bytes that this side has read from the other. */
export function stateFrame(number: number, consumed: number): Buffer {
  const count = Buffer.alloc(COUNT);
  count.writeUIntBE(consumed, 0, COUNT);
  return encodeFrame(STATE, number, count);
}

/** Undefined for what is no frame. */
export function readFrame(bytes: Uint8Array): Frame | undefined {
  const frame = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (frame.length < HEADER) return undefined;
  const kind = frame.readUInt8(0);
  const data = frame.subarray(HEADER);
  if (kind > RESET || (kind === STATE && data.length !== COUNT)) return undefined;
  return { kind, number: frame.readUInt32BE(1), data };
}

/** Bytes that may be on their way to a reader that has not taken them. */
export const WINDOW = 1024 * 1024;
/** Taken bytes after which the sender is told that it may send more. */
const CREDIT_STEP = WINDOW / 4;
/** Bytes in one message at most, so that one connection does not hold up the others. */
const LARGEST = 64 * 1024;
/** Milliseconds between messages that only say that this side is alive. */
const TICK = 1_000;
/** Ticks without any message, after which the other side counts as gone. */
const SILENT_TICKS = 5;

/** The subjects of one end of a connection. */
interface SocketSubjects {
  readonly incoming: string;
  readonly outgoing: string;
}

/**
 * A byte stream to another node, over two subjects of NATS. NATS may lose messages when it is restarted
 * or overloaded: a missing or repeated message ends the stream with an error, and so does silence, which
 * is counted in ticks of our own event loop, so that the time in which this process was stopped does not
 * count. While NATS is away, data waits here. A slow reader slows the writer down: at most `WINDOW` bytes
 * are on their way.
 */
export class NatsSocket extends Duplex {
  readonly #connection: FleetConnection;
  readonly #outgoing: string;
  readonly #subscription: Subscription;
  readonly #stopWatching: () => void;
  readonly #timer: NodeJS.Timeout;
  #silentTicks = 0;

  /** Counted frames, in each direction. */
  #sent = 0;
  #received = 0;

  readonly #unread: Buffer[] = [];
  #wantsData = false;
  #bytesReceived = 0;
  #bytesConsumed = 0;
  #bytesAnnounced = 0;
  #hasEnded = false;

  #unsent: Buffer[] = [];
  #written: (() => void) | undefined;
  #bytesSent = 0;
  /** What the other side has consumed. */
  #bytesTaken = 0;
  #hasFinished = false;
  /** The other side has finished sending, and reads no more. */
  #peerHasGone = false;
  /** Our connection to NATS was lost, and the other side was not heard since. */
  #isAway = false;

  constructor(connection: FleetConnection, { incoming, outgoing }: SocketSubjects, tick = TICK) {
    super({ allowHalfOpen: true });
    this.#connection = connection;
    this.#outgoing = outgoing;
    this.#subscription = connection.listen(
      incoming,
      ({ data }) => this.#receive(data),
      (error) => this.destroy(error),
    );
    this.#stopWatching = connection.onChange(() => this.#reconnect());
    this.#timer = setInterval(() => this.#tick(), tick);
    this.#timer.unref();
  }

  override _read(): void {
    this.#wantsData = true;
    this.#deliver();
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.#send([chunk], callback);
  }

  override _writev(chunks: { chunk: Buffer }[], callback: () => void): void {
    const buffers = chunks.map(({ chunk }) => chunk);
    this.#send(buffers, callback);
  }

  override _final(callback: () => void): void {
    this.#unsent = [];
    this.#written = () => {
      if (!this.#peerHasGone) this.#publish(encodeFrame(END, this.#sent));
      this.#sent = following(this.#sent);
      this.#hasFinished = true;
      callback();
    };
    this.#flush();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    clearInterval(this.#timer);
    this.#stopWatching();
    this.#subscription.unsubscribe();
    const isOver = this.#hasFinished && this.#hasEnded;
    if (!isOver && !this.#peerHasGone) this.#sayWhy(error?.message ?? "");
    this.#unread.length = 0;
    this.#unsent = [];
    this.#written = undefined;
    callback(error);
  }

  #receive(bytes: Uint8Array): void {
    if (this.destroyed) return;
    this.#silentTicks = 0;
    if (this.#isAway) this.#return();
    const frame = readFrame(bytes);
    if (frame === undefined) {
      this.destroy(new Error("The other node sent a message that is no frame"));
    } else if (frame.kind === RESET) {
      this.#reset(frame.data.toString());
    } else if (frame.number !== this.#received) {
      const lost = `number ${frame.number} came instead of ${this.#received}`;
      this.destroy(new Error(`NATS lost a message: ${lost}`));
    } else {
      this.#take(frame);
    }
  }

  #take({ kind, data }: Frame): void {
    if (kind === STATE) {
      this.#bytesTaken = Math.min(data.readUIntBE(0, COUNT), this.#bytesSent);
      this.#flush();
      return;
    }
    this.#received = following(this.#received);
    if (this.#hasEnded) {
      this.destroy(new Error("The other node sent data after its end"));
      return;
    }
    if (kind === END) {
      this.#hasEnded = true;
    } else {
      this.#bytesReceived += data.length;
      if (this.#bytesReceived - this.#bytesConsumed > WINDOW) {
        this.destroy(new Error(`The other node sent more than the ${WINDOW} bytes it may`));
        return;
      }
      this.#unread.push(data);
    }
    this.#deliver();
  }

  /** Hands received data to the reader, and tells the sender what was taken. */
  #deliver(): void {
    while (this.#wantsData) {
      const chunk = this.#unread.shift();
      if (chunk === undefined) break;
      this.#bytesConsumed += chunk.length;
      this.#wantsData = this.push(chunk);
    }
    if (this.destroyed) return;
    if (this.#hasEnded && this.#unread.length === 0) {
      if (this.#wantsData) this.push(null);
      this.#wantsData = false;
    } else if (this.#bytesConsumed - this.#bytesAnnounced >= CREDIT_STEP) {
      this.#tellState();
    }
  }

  #reset(why: string): void {
    if (!this.#hasEnded) {
      this.destroy(new Error(why === "" ? "The other node closed the connection" : why));
      return;
    }
    // It has sent everything. The reader gets that first.
    this.#peerHasGone = true;
    this.#flush();
    if (this.readableEnded) this.destroy();
    else this.once("end", () => this.destroy());
  }

  #send(chunks: Buffer[], callback: () => void): void {
    this.#unsent = chunks;
    // Later, so that everything that is written in this turn is sent together.
    this.#written = () => queueMicrotask(callback);
    this.#flush();
  }

  /** Sends as much as the window allows, and calls back when everything is sent. */
  #flush(): void {
    if (this.#peerHasGone) this.#unsent = [];
    else if (this.#isAway) return;
    while (this.#unsent.length > 0) {
      const credit = WINDOW - (this.#bytesSent - this.#bytesTaken);
      if (credit <= 0) return;
      this.#sendData(Math.min(credit, LARGEST, this.#connection.maxPayload - HEADER));
    }
    const written = this.#written;
    this.#written = undefined;
    written?.();
  }

  #sendData(room: number): void {
    const chunks: Buffer[] = [];
    let length = 0;
    while (length < room) {
      const chunk = this.#unsent.shift();
      if (chunk === undefined) break;
      const part = chunk.subarray(0, room - length);
      if (part.length < chunk.length) this.#unsent.unshift(chunk.subarray(part.length));
      chunks.push(part);
      length += part.length;
    }
    this.#publish(encodeFrame(DATA, this.#sent, ...chunks));
    this.#sent = following(this.#sent);
    this.#bytesSent += length;
  }

  /**
   * After a restart of NATS, the other side may reconnect later than this one. Data waits until it was heard,
   * and it is told the position of this side.
   */
  #reconnect(): void {
    this.#isAway = true;
    this.#tellState();
  }

  #return(): void {
    this.#isAway = false;
    this.#tellState();
    this.#flush();
  }

  #tick(): void {
    this.#silentTicks++;
    if (this.#silentTicks > SILENT_TICKS) {
      this.destroy(new Error(`The other node does not answer any more`));
      return;
    }
    // Also while data is sent: the last message, or what was told before, may have been lost.
    this.#tellState();
  }

  #tellState(): void {
    this.#bytesAnnounced = this.#bytesConsumed;
    this.#publish(stateFrame(this.#sent, this.#bytesConsumed));
  }

  /** Also while NATS seems away: a message may have come before we know that it is back. */
  #sayWhy(why: string): void {
    const { nats } = this.#connection;
    if (!nats.isClosed())
      nats.publish(this.#outgoing, encodeFrame(RESET, this.#sent, Buffer.from(why)));
  }

  #publish(frame: Buffer): void {
    if (this.#connection.isConnected) this.#connection.nats.publish(this.#outgoing, frame);
  }
}
