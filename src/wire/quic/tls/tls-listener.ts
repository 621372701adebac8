import type { AddressInfo, Socket } from "node:net";
import { createServer, type Server, type TLSSocket } from "node:tls";
import { memoryReturn } from "../../../base/process/give-back-memory.ts";
import { formatAddress } from "../address.ts";
import { AdmittedConnections } from "../admitted-connections.ts";
import {
  type ConnectionLimits,
  type Credentials,
  type Listener,
  type ListenOptions,
  resolveConnectionLimits,
  tlsAlpn,
} from "../connection.ts";
import { ConnectionError, tlsTrouble, withCertificates } from "../connection-error.ts";
import { peerOf } from "../peer-certificate.ts";
import type { Ending } from "../settings.ts";
import { SocketConnection } from "./socket-connection.ts";

/** Accepts connections over TLS 1.3. */
export class TlsListener implements Listener {
  readonly #options: ListenOptions;
  readonly #limits: ConnectionLimits;
  readonly #host: string;
  readonly #server: Server;
  readonly #connections: AdmittedConnections<SocketConnection>;
  /** Connections whose handshake is not complete, the oldest first. */
  readonly #arriving = new Map<string, Socket>();
  #port = 0;
  #closing: Promise<void> | undefined;

  private constructor(host: string, options: ListenOptions) {
    this.#host = host;
    this.#options = options;
    this.#limits = resolveConnectionLimits(options.limits);
    this.#connections = new AdmittedConnections(options, this.#limits);
    this.#server = createServer({
      ...options.credentials,
      minVersion: "TLSv1.3",
      requestCert: true,
      // Checked below: a certificate that was sent must be valid, even if none is required.
      rejectUnauthorized: false,
      ALPNProtocols: [tlsAlpn(options.alpn)],
      handshakeTimeout: this.#limits.handshakeTimeout,
    });
    this.#server.on("connection", (socket: Socket) => this.#arrived(socket));
    this.#server.on("secureConnection", (socket) => this.#accept(socket));
    this.#server.on("tlsClientError", (error, socket) => {
      // After the timeout Node only emits an event, and leaves the connection open.
      socket.destroy();
      this.#refuse({ trouble: tlsTrouble(error), detail: error.message });
    });
  }

  static async open(host: string, port: number, options: ListenOptions): Promise<TlsListener> {
    const where = formatAddress({ scheme: "tls", host, port });
    const listener = withCertificates(`listen on ${where}`, () => new TlsListener(host, options));
    await listener.#listen(port, where);
    return listener;
  }

  async #listen(port: number, where: string): Promise<void> {
    const listening = Promise.withResolvers<void>();
    this.#server.once("error", listening.reject).listen(port, this.#host, listening.resolve);
    try {
      await listening.promise;
    } catch (error) {
      this.#connections.stop();
      const why = (error as Error).message;
      throw new ConnectionError("unusable", `Cannot listen on ${where}: ${why}.`);
    }
    this.#server.on("error", () => {});
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  get port(): number {
    return this.#port;
  }

  get address(): string {
    return formatAddress({ scheme: "tls", host: this.#host, port: this.port });
  }

  async renew(credentials: Credentials): Promise<void> {
    withCertificates(`renew the certificates of ${this.address}`, () =>
      this.#server.setSecureContext(credentials),
    );
  }

  take(socket: Socket): void {
    if (this.#closing === undefined) this.#server.emit("connection", socket);
    else socket.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#server.close(() => closed.resolve());
    for (const socket of this.#arriving.values()) socket.destroy();
    await this.#connections.close();
    await closed.promise;
  }

  /**
   * Anybody on this machine can connect and send nothing. If too many do, the oldest of them is
   * closed: a peer with a certificate completes its handshake in a moment.
   */
  #arrived(socket: Socket): void {
    const key = endOf(socket);
    this.#arriving.set(key, socket);
    socket.once("close", () => {
      this.#arriving.delete(key);
      memoryReturn().connectionEnded();
    });
    if (this.#arriving.size <= this.#limits.maxConnections) return;
    const [oldest] = this.#arriving.values();
    oldest?.destroy();
  }

  #accept(socket: TLSSocket): void {
    socket.on("error", () => {});
    const problem = this.#problemWith(socket);
    if (problem !== undefined) {
      socket.destroy();
      this.#refuse(problem);
      return;
    }
    this.#arriving.delete(endOf(socket));
    if (this.#closing === undefined) this.#letIn(socket);
    else socket.destroy();
  }

  #letIn(socket: TLSSocket): void {
    socket.setNoDelay(true).setKeepAlive(true, this.#limits.keepAlive);
    const connection = new SocketConnection(socket, {
      ...{ address: this.address, peer: peerOf(socket), limits: this.#limits },
      accept: (stream, by) => this.#options.stream(stream, by),
      crowded: () => this.#boundUnsent(),
    });
    const isFull = this.#connections.all.size >= this.#limits.maxConnections;
    const detail = isFull ? "too many connections" : this.#connections.problemWith(connection);
    if (detail !== undefined) {
      socket.destroy();
      this.#refuse({ trouble: "full", detail });
      return;
    }
    this.#connections.add(connection);
    this.#options.connected?.(connection);
    connection.start();
  }

  #problemWith(socket: TLSSocket): Ending | undefined {
    // ALPN has chosen one of the offered protocols, or none.
    if (socket.alpnProtocol === false) {
      return { trouble: "wrong-alpn", detail: "no protocol in common" };
    }
    const isShown = socket.getPeerX509Certificate() !== undefined;
    const isRequired = (this.#options.clientCertificate ?? "require") === "require";
    if (!isShown && isRequired) {
      const detail = "a certificate is required, and none was shown";
      return { trouble: "no-certificate", detail };
    }
    if (!isShown || socket.authorized) return undefined;
    const error = new Error(String(socket.authorizationError));
    return { trouble: tlsTrouble(error), detail: error.message };
  }

  #refuse(ending: Ending): void {
    const what = `Cannot let a client in at ${this.address}`;
    this.#options.refused?.(ConnectionError.of(what, ending));
  }

  /** Limits a client that opens many connections and reads none of them. */
  #boundUnsent(): void {
    const open = [...this.#connections.all].filter((connection) => !connection.isClosed);
    const unsent = open.reduce((sum, connection) => sum + connection.unsent, 0);
    if (unsent <= this.#limits.maxUnsent) return;
    open.toSorted((a, b) => b.unsent - a.unsent)[0]?.cutUnread();
  }
}

/** A key that differs for each open connection. */
function endOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}
