import type { TLSSocket } from "node:tls";
import { MAX_FRAME } from "../../framing/length-prefixed.ts";
import type {
  BidiStream,
  Connection,
  ConnectionLimits,
  ListenOptions,
  PeerCertificate,
} from "../connection.ts";
import { ConnectionError, tlsTrouble } from "../connection-error.ts";
import { HeldBytes } from "../stream/held-bytes.ts";
import { FrameBoundary } from "./frame-boundary.ts";
import { readPeerCertificate } from "../peer-certificate.ts";
import type { Trouble } from "../settings.ts";
import { TlsStream, type TlsStreamHost } from "./tls-stream.ts";

/** An empty frame: the server is ready for a request, at first and after each answer. */
export const READY = Buffer.alloc(4);

/** A TLS connection that a listener took: requests, each a frame, answered one after the other. */
export class TlsServerConnection implements Connection, TlsStreamHost {
  readonly address: string;
  readonly held: HeldBytes;
  readonly peer: PeerCertificate | undefined;
  readonly #socket: TLSSocket;
  readonly #options: ListenOptions;
  readonly #boundary = new FrameBoundary(MAX_FRAME);
  readonly #closed = Promise.withResolvers<ConnectionError>();
  #stream: TlsStream | undefined;
  /** The request has come whole; what follows it waits for the answer. */
  #isAnswering = false;
  #rest = Buffer.alloc(0);
  #isDraining = false;
  #isOver = false;
  #hasEnded = false;

  constructor(
    socket: TLSSocket,
    address: string,
    limits: ConnectionLimits,
    options: ListenOptions,
  ) {
    this.address = address;
    this.held = new HeldBytes(limits.maxHeld);
    this.#socket = socket;
    this.#options = options;
    const certificate = socket.getPeerX509Certificate();
    this.peer = certificate === undefined ? undefined : readPeerCertificate(certificate.raw);
    socket.setKeepAlive(true, limits.keepAlive);
  }

  get openStreams(): number {
    return this.#stream === undefined ? 0 : 1;
  }

  get isClosed(): boolean {
    return this.#isOver || this.#isDraining;
  }

  get closed(): Promise<ConnectionError> {
    return this.#closed.promise;
  }

  start(): void {
    const socket = this.#socket;
    socket.write(READY);
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("end", () => this.#ended());
    socket.on("error", (error) => this.#over(tlsTrouble(error), error.message));
    socket.on("close", () => this.#over("closed", ""));
  }

  openStream(): BidiStream {
    throw new Error("Cannot open a stream to a client over TLS: only clients open them.");
  }

  async drain(): Promise<void> {
    this.#isDraining = true;
    if (this.#stream === undefined) this.#socket.end();
    await this.#closed.promise;
  }

  async close(): Promise<void> {
    this.#socket.end();
    this.#socket.destroySoon();
    await this.#closed.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  done(stream: TlsStream, isBroken: boolean): void {
    if (stream !== this.#stream) return;
    this.#stream = undefined;
    this.#isAnswering = false;
    if (isBroken) return;
    if (this.#isDraining || this.#hasEnded) {
      this.#socket.end();
      return;
    }
    const rest = this.#rest;
    this.#rest = Buffer.alloc(0);
    this.#socket.resume();
    if (rest.length > 0) this.#receive(rest);
  }

  dropStale(): void {
    if (this.#stream?.isStale() === true) this.#stream.reset();
  }

  #receive(bytes: Buffer): void {
    let chunk = bytes;
    while (chunk.length > 0) {
      if (this.#isAnswering) {
        this.#rest = Buffer.concat([this.#rest, chunk]);
        this.#socket.pause();
        return;
      }
      try {
        const piece = this.#boundary.next(chunk);
        chunk = chunk.subarray(piece.length);
        this.#request(piece.isEmpty ? [READY] : piece.data, piece.isEnd);
      } catch (error) {
        this.#over("limit", (error as Error).message);
        this.#socket.destroy();
        return;
      }
    }
  }

  #request(data: readonly Buffer[], isEnd: boolean): void {
    const isNew = this.#stream === undefined;
    this.#stream ??= new TlsStream(this, READY);
    const stream = this.#stream;
    if (isNew) stream.attach(this.#socket);
    this.#isAnswering = isEnd;
    for (const [index, bytes] of data.entries()) {
      stream.receive(bytes, isEnd && index === data.length - 1);
    }
    if (isNew) this.#options.stream(stream, this);
  }

  /** The client sends no more: it still gets the answer it waits for. */
  #ended(): void {
    this.#hasEnded = true;
    if (this.#stream === undefined) this.#socket.end();
    else if (!this.#isAnswering) this.#over("closed", "the request was cut off");
  }

  #over(trouble: Trouble, detail: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const error = ConnectionError.of(`Cannot continue with a client of ${this.address}`, {
      trouble,
      detail,
    });
    this.#stream?.fail(error);
    this.#closed.resolve(error);
  }
}
