import { background } from "../../../base/background.ts";
import type { BidiStream, Connection, ConnectionLimits, PeerCertificate } from "../connection.ts";
import { ConnectionError } from "../connection-error.ts";
import { HeldBytes } from "../stream/held-bytes.ts";
import type { PooledSocket } from "./pooled-socket.ts";
import { TlsStream, type TlsStreamHost } from "./tls-stream.ts";

/** How many exchanges run at once; more wait. */
export const MOST_SOCKETS = 64;
const NO_MARK = new Uint8Array();

/**
 * A client's connection over TLS: as many TLS connections as exchanges run at once, each used again
 * when its exchange has ended.
 */
export class TlsConnection implements Connection, TlsStreamHost {
  readonly address: string;
  readonly held: HeldBytes;
  readonly peer: PeerCertificate | undefined;
  readonly #dial: () => Promise<PooledSocket>;
  readonly #closed = Promise.withResolvers<ConnectionError>();
  readonly #sockets = new Set<PooledSocket>();
  readonly #idle: PooledSocket[] = [];
  readonly #busy = new Map<TlsStream, PooledSocket | undefined>();
  readonly #waiting: TlsStream[] = [];
  #dialling = 0;
  #isDraining = false;
  #over: ConnectionError | undefined;

  constructor(
    address: string,
    first: PooledSocket,
    dial: () => Promise<PooledSocket>,
    limits: ConnectionLimits,
    held: HeldBytes = new HeldBytes(limits.maxHeld),
  ) {
    this.address = address;
    this.held = held;
    this.peer = first.peer;
    this.#dial = dial;
    this.#add(first);
  }

  get openStreams(): number {
    return this.#busy.size + this.#waiting.length;
  }

  get isClosed(): boolean {
    return this.#isDraining || this.#over !== undefined;
  }

  get closed(): Promise<ConnectionError> {
    return this.#closed.promise;
  }

  openStream(): BidiStream {
    const stream = new TlsStream(this, NO_MARK);
    if (this.isClosed) {
      stream.fail(this.#over ?? this.#trouble("it is being closed"));
    } else {
      this.#waiting.push(stream);
      this.#serve();
    }
    return stream;
  }

  async drain(): Promise<void> {
    this.#isDraining = true;
    if (this.openStreams === 0) await this.close();
    await this.#closed.promise;
  }

  async close(): Promise<void> {
    this.#end(this.#trouble("it was closed"));
    await this.#closed.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  done(stream: TlsStream, isBroken: boolean): void {
    const socket = this.#busy.get(stream);
    this.#busy.delete(stream);
    const waiting = this.#waiting.indexOf(stream);
    if (waiting >= 0) this.#waiting.splice(waiting, 1);
    if (socket !== undefined && !isBroken && !socket.isOver) {
      socket.release();
      this.#idle.push(socket);
    } else {
      socket?.destroy();
    }
    if (this.#isDraining && this.openStreams === 0)
      background(this.close(), "Closing a connection");
    else this.#serve();
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      const socket = this.#idle.pop();
      if (socket === undefined) break;
      const stream = this.#waiting.shift();
      if (stream === undefined) break;
      this.#busy.set(stream, socket);
      socket.carry(stream);
    }
    const isRoom = this.#sockets.size + this.#dialling < MOST_SOCKETS;
    if (this.#waiting.length > this.#dialling && isRoom && !this.isClosed)
      background(this.#dialMore(), "Dialling");
  }

  async #dialMore(): Promise<void> {
    this.#dialling += 1;
    try {
      const socket = await this.#dial();
      this.#dialling -= 1;
      if (this.#over === undefined) this.#add(socket);
      else socket.destroy();
    } catch (error) {
      this.#dialling -= 1;
      // Those that have a connection go on; without any, this one is over.
      if (this.#sockets.size === 0) this.#end(error as ConnectionError);
    }
    this.#serve();
  }

  #add(socket: PooledSocket): void {
    this.#sockets.add(socket);
    this.#idle.push(socket);
    background(
      socket.closed.then((error) => this.#lost(socket, error)),
      "Noting that a socket is closed",
    );
  }

  #lost(socket: PooledSocket, error: ConnectionError): void {
    this.#sockets.delete(socket);
    const idle = this.#idle.indexOf(socket);
    if (idle >= 0) this.#idle.splice(idle, 1);
    for (const [stream, each] of this.#busy) if (each === socket) stream.fail(error);
    if (this.#sockets.size === 0 && this.#dialling === 0) this.#end(error);
  }

  #end(error: ConnectionError): void {
    if (this.#over !== undefined) return;
    this.#over = error;
    for (const stream of [...this.#waiting, ...this.#busy.keys()]) stream.fail(error);
    for (const socket of this.#sockets) socket.end();
    this.#closed.resolve(error);
  }

  #trouble(detail: string): ConnectionError {
    return ConnectionError.of(`Cannot continue with ${this.address}`, {
      trouble: "closed",
      detail,
    });
  }
}
