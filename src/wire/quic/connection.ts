import type { Socket } from "node:net";
import type { ConnectionError } from "./connection-error.ts";
import type { HeldBytes } from "./stream/multiplexed-stream.ts";

/** A certificate and its key, and the CA that vouches for the other side: PEM texts. */
export interface Credentials {
  readonly ca: string;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** Who the other side is, by its verified certificate. */
export interface PeerCertificate {
  /** The common name of its subject. */
  readonly name: string;
  /** The organizational unit of its subject, if it has one. */
  readonly unit: string | undefined;
  /** SHA-256 of the certificate, in hex. */
  readonly fingerprint: string;
}

/** Checks the first bytes of a stream, and may refuse the rest. */
export interface PrefixCheck {
  /** How many bytes it needs. */
  readonly length: number;
  /** Why the stream is refused; undefined where it is not. */
  problem(begin: Buffer): string | undefined;
}

/**
 * One exchange: a request and its end go one way, an answer and its end come back. Both are bytes; the
 * layer above divides them into frames.
 */
export interface BidiStream {
  /** Sends bytes, of which more follow. Resolves when there is room for more. */
  write(bytes: Uint8Array): Promise<void>;
  /** Sends the last bytes together with the end. Resolves when they were sent. */
  end(bytes?: Uint8Array): Promise<void>;
  /** All bytes of the other side, up to its end. Resets the exchange if they exceed the limit. */
  readAll(limit: number, refuse?: PrefixCheck): Promise<Buffer>;
  /** The bytes of the other side, as they come. They are buffered until they are read. */
  chunks(): AsyncGenerator<Buffer, void, void>;
  /** The request has arrived whole. Until it is answered, the peer may leave its side open. */
  patient?(): void;
  /** Resets both directions. */
  reset(code?: number): void;
  /** Aborted with the reason if the exchange breaks before both directions have ended. */
  readonly signal: AbortSignal;
}

export interface Connection extends AsyncDisposable {
  /** The other side's address as it was dialled, or that of the listener that took it. */
  readonly address: string;
  /** Undefined if the other side showed no certificate, which a listener may allow. */
  readonly peer: PeerCertificate | undefined;
  /** How many exchanges run. */
  readonly openStreams: number;
  readonly isClosed: boolean;
  /**
   * How much the connection is worn: each exchange makes later ones slower, and one that was reset counts
   * many times.
   */
  readonly wear?: number;
  /** Resolves with the reason when the connection is over. */
  readonly closed: Promise<ConnectionError>;
  /** Opens an exchange. It waits, if the other side has as many as it allows. */
  openStream(): BidiStream;
  /** Opens no more exchanges, and closes when those that run have ended. */
  drain(): Promise<void>;
  /** Closes once what was sent has arrived, within a bounded time; exchanges that run break. */
  close(code?: number, reason?: string): Promise<void>;
}

export interface ConnectOptions {
  readonly credentials: Credentials;
  /** The name or IP address the server's certificate must carry; else that of the address. */
  readonly serverName?: string;
  readonly alpn?: string;
  readonly signal?: AbortSignal;
  readonly limits?: Partial<ConnectionLimits>;
  /** Counts unread bytes together with other connections; `maxHeld` is then not used. */
  readonly held?: HeldBytes;
  /** Connects to a port of another network, in which the address is; over TLS only. */
  readonly reach?: ((port: number, signal?: AbortSignal) => Promise<Socket>) | undefined;
}

export interface ListenOptions {
  readonly credentials: Credentials;
  readonly alpn?: string;
  /** Whether a client must show a certificate; one that is shown is verified in any case. */
  readonly clientCertificate?: "require" | "request";
  readonly limits?: Partial<ConnectionLimits>;
  /** How many connections there may be whose peers show a certificate of that name; else any number. */
  readonly mostOfPeer?: (peer: PeerCertificate) => number | undefined;
  /** An exchange begins. */
  stream(stream: BidiStream, connection: Connection): void;
  connected?(connection: Connection): void;
  /** A client was not let in. */
  refused?(reason: ConnectionError): void;
  /** The listener has failed and is set up again: its connections are gone, the address stays. */
  lost?(reason: ConnectionError): void;
}

export interface Listener extends AsyncDisposable {
  /** As clients dial it, with the port that was picked: `quic://127.0.0.1:50100`. */
  readonly address: string;
  readonly port: number;
  /** Uses other certificates from the next connection on. */
  renew(credentials: Credentials): Promise<void>;
  /** Takes a connection that was accepted in another network; for TLS only. */
  take?(socket: Socket): void;
}

/** Bounds of connections, in milliseconds and bytes. */
export interface ConnectionLimits {
  readonly handshakeTimeout: number;
  readonly idleTimeout: number;
  /** The interval of pings. A peer that has not answered for one interval counts as dead. */
  readonly keepAlive: number;
  /** How long a peer may leave a request unfinished without sending any of it. */
  readonly requestIdle: number;
  /** Exchanges that the other side may have running on one connection; more wait. */
  readonly maxStreams: number;
  /** Unread bytes of one connection; above this, the exchange that began last is broken off. */
  readonly maxHeld: number;
  /** Bytes that all clients of a listener together leave in our sockets, over TLS. */
  readonly maxUnsent: number;
  /** Connections of one listener. */
  readonly maxConnections: number;
}

export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = {
  handshakeTimeout: 10_000,
  idleTimeout: 300_000,
  keepAlive: 6_000,
  requestIdle: 30_000,
  maxStreams: 128,
  maxHeld: 512 * 1024 * 1024,
  maxUnsent: 256 * 1024 * 1024,
  maxConnections: 1_024,
};

export function resolveConnectionLimits(limits: Partial<ConnectionLimits> = {}): ConnectionLimits {
  return { ...DEFAULT_CONNECTION_LIMITS, ...limits };
}

/** Orchestra's TLS: the protocol that both sides name in the handshake (RFC 9001 § 8.1). */
export const BUS_ALPN = "orchestra-plugin";

/** The ALPN protocol over TLS, where streams share a socket in frames of our own. */
export function tlsAlpn(alpn: string = BUS_ALPN): string {
  return `${alpn}-frames`;
}
