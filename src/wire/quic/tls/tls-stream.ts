import type { TLSSocket } from "node:tls";
import { type Stop, Stopper } from "../../../base/stop.ts";
import type { BidiStream, Refuse } from "../connection.ts";
import { ConnectionError } from "../connection-error.ts";
import type { HeldBytes } from "../stream/held-bytes.ts";
import { StreamReceiver } from "../stream/stream-receiver.ts";
import { READ_WINDOW } from "../control-frame.ts";

/** What an exchange over TLS needs of the socket's owner. */
export interface TlsStreamHost {
  readonly address: string;
  readonly held: HeldBytes;
  /** Both directions have ended, or the exchange broke. */
  done(stream: TlsStream, isBroken: boolean): void;
}

/** One exchange over a TLS connection, which carries one at a time. */
export class TlsStream implements BidiStream {
  readonly #host: TlsStreamHost;
  readonly #receiver: StreamReceiver;
  /** Says the end of what we send. */
  readonly #mark: Uint8Array;
  readonly #socket = Promise.withResolvers<TLSSocket>();
  #attached: TLSSocket | undefined;
  #sending = Promise.resolve();
  #room = READ_WINDOW;
  #isSent = false;
  #isOver = false;
  #error: Error | undefined;
  readonly #stopper = new Stopper();

  constructor(host: TlsStreamHost, mark: Uint8Array) {
    this.#host = host;
    this.#mark = mark;
    this.#receiver = new StreamReceiver({
      held: host.held,
      grant: (bytes) => this.#makeRoom(bytes),
      breakOff: (error) => this.#breakOff(error),
    });
    this.#socket.promise.catch(() => {});
  }

  get stop(): Stop {
    return this.#stopper;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Gets the connection it runs over. */
  attach(socket: TLSSocket): void {
    this.#attached = socket;
    this.#socket.resolve(socket);
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#send(async (socket) => {
      if (bytes.length > 0 && !socket.write(bytes)) await drained(socket);
    });
  }

  end(bytes: Uint8Array = new Uint8Array()): Promise<void> {
    return this.#send(async (socket) => {
      socket.cork();
      if (bytes.length > 0) socket.write(bytes);
      const hasRoom = this.#mark.length === 0 || socket.write(this.#mark);
      socket.uncork();
      this.#isSent = true;
      this.#settle();
      if (!hasRoom && !this.#isOver) await drained(socket);
    });
  }

  readAll(limit: number, refuse?: Refuse): Promise<Buffer> {
    return this.#receiver.readAll(limit, refuse);
  }

  chunks(): AsyncGenerator<Buffer, void, void> {
    return this.#receiver.chunks();
  }

  reset(): void {
    const { address } = this.#host;
    const message = `Cannot continue the exchange with ${address}: it was cancelled on this side.`;
    this.#breakOff(new ConnectionError("cancelled", message));
  }

  /** Bytes of what the other side sends. */
  receive(bytes: Buffer, isLast: boolean): void {
    this.#room -= bytes.length;
    if (this.#room <= 0) this.#attached?.pause();
    this.#receiver.push(bytes, isLast);
    if (isLast) this.#attached?.resume();
    this.#settle();
  }

  fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    this.#socket.reject(error);
    this.#receiver.fail(error);
    this.#stopper.stop(error);
    this.#host.done(this, true);
  }

  /** Whether nothing of an unfinished request came for a while. Called at intervals. */
  isStale(): boolean {
    return this.#receiver.isSilent();
  }

  #breakOff(error: ConnectionError): void {
    // Its connection may carry another exchange by now.
    if (this.#isOver) return;
    this.#attached?.destroy();
    this.fail(error);
  }

  #makeRoom(bytes: number): void {
    this.#room += bytes;
    if (this.#room > 0) this.#attached?.resume();
  }

  /** One after the other, once there is a connection. */
  #send(act: (socket: TLSSocket) => Promise<void>): Promise<void> {
    const sent = this.#sending.then(async () => {
      const socket = this.#attached ?? (await this.#socket.promise);
      if (this.#error !== undefined) throw this.#error;
      await act(socket);
    });
    sent.catch(() => {});
    this.#sending = sent;
    return sent;
  }

  #settle(): void {
    if (this.#isOver || !this.#receiver.isEnded || !this.#isSent) return;
    this.#isOver = true;
    this.#host.done(this, false);
  }
}

async function drained(socket: TLSSocket): Promise<void> {
  const settled = Promise.withResolvers<void>();
  const settle = (): void => {
    socket.off("drain", settle).off("close", settle);
    settled.resolve();
  };
  socket.on("drain", settle).on("close", settle);
  await settled.promise;
}
