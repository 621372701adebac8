import type { TLSSocket } from "node:tls";
import { MAX_FRAME } from "../../framing/length-prefixed.ts";
import type { PeerCertificate } from "../connection.ts";
import { ConnectionError, tlsTrouble } from "../connection-error.ts";
import { FrameBoundary } from "./frame-boundary.ts";
import { readPeerCertificate } from "../peer-certificate.ts";
import type { TlsStream } from "./tls-stream.ts";

/** One TLS connection of a client's pool. It carries one exchange at a time. */
export class PooledSocket {
  readonly peer: PeerCertificate | undefined;
  /** Resolves with the reason when it is gone. */
  readonly closed: Promise<ConnectionError>;
  /** Resolves when the server is ready for the first request: it has let us in. */
  readonly ready: Promise<void>;
  readonly #closed = Promise.withResolvers<ConnectionError>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #socket: TLSSocket;
  readonly #address: string;
  readonly #boundary = new FrameBoundary(MAX_FRAME);
  #stream: TlsStream | undefined;
  #isReady = false;
  #isOver = false;

  constructor(socket: TLSSocket, address: string) {
    this.#socket = socket;
    this.#address = address;
    this.closed = this.#closed.promise;
    this.ready = this.#ready.promise;
    this.ready.catch(() => {});
    const certificate = socket.getPeerX509Certificate();
    this.peer = certificate === undefined ? undefined : readPeerCertificate(certificate.raw);
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("error", (error) => this.#over(this.#trouble(error)));
    socket.on("close", () => this.#over(this.#trouble(undefined)));
    socket.on("end", () => socket.destroySoon());
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  carry(stream: TlsStream): void {
    this.#stream = stream;
    stream.attach(this.#socket);
  }

  release(): void {
    this.#stream = undefined;
    this.#socket.resume();
  }

  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    let chunk = bytes;
    while (chunk.length > 0) {
      try {
        const piece = this.#boundary.next(chunk);
        chunk = chunk.subarray(piece.length);
        if (piece.isEmpty) this.#serverIsReady();
        else for (const data of piece.data) this.#stream?.receive(data, false);
      } catch (error) {
        this.#over(this.#trouble(error as Error, "limit"));
        this.#socket.destroy();
        return;
      }
    }
  }

  #serverIsReady(): void {
    if (this.#isReady) this.#stream?.receive(Buffer.alloc(0), true);
    this.#isReady = true;
    this.#ready.resolve();
  }

  #over(error: ConnectionError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ready.reject(error);
    this.#closed.resolve(error);
  }

  #trouble(error: Error | undefined, known?: "limit"): ConnectionError {
    const what = `Cannot continue with ${this.#address}`;
    if (!this.#isReady && (error === undefined || tlsTrouble(error) === "network")) {
      const detail =
        "the server hung up after the handshake: it does not accept our certificate, or we showed none";
      return ConnectionError.of(what, { trouble: "bad-certificate", detail });
    }
    if (error === undefined) {
      return ConnectionError.of(what, { trouble: "closed", detail: "", byPeer: true });
    }
    return ConnectionError.of(what, { trouble: known ?? tlsTrouble(error), detail: error.message });
  }
}
