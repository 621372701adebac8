import { type AddressInfo, type LookupFunction, type Socket, isIP } from "node:net";
import * as tls from "node:tls";
import { onAbort } from "../../base/abort.ts";
import { memoryReturn } from "../../base/process/give-back-memory.ts";
import { type Address, formatAddress, isLoopback, parseAddress, resolveHost } from "./address.ts";
import { AdmittedConnections } from "./admitted-connections.ts";
import { ConnectionError, tlsTrouble, withCertificates } from "./connection-error.ts";
import {
  BUS_ALPN,
  type ConnectOptions,
  type Connection,
  type Credentials,
  type ListenOptions,
  type Listener,
  resolveConnectionLimits,
  tlsAlpn,
} from "./connection.ts";
import { peerOf } from "./peer-certificate.ts";
import { type QuicConnection, type QuicEngine, sharedEngine } from "./quic-engine.ts";
import { openQuicListener } from "./quic-listener.ts";
import type { EndReason, QuicFailure } from "./settings.ts";
import { HeldBytes } from "./stream/multiplexed-stream.ts";
import { SocketConnection } from "./tls/socket-connection.ts";

/** Connects to `quic://host:port`, `tls://host:port`, or `host:port` for QUIC or what is faster. */
export async function connect(
  address: string,
  options: ConnectOptions,
  engine: QuicEngine = sharedEngine,
): Promise<Connection> {
  const parsed = parseAddress(address);
  const isTls = parsed.scheme === "tls" || options.reach !== undefined;
  if (isTls) return connectTls({ ...parsed, scheme: "tls" }, options);
  const isLocal = parsed.scheme === "any" && isLoopback(parsed.host);
  return isLocal ? connectLocal(parsed, options, engine) : connectQuic(parsed, options, engine);
}

/** Listens at an address; port 0 picks a free one. */
export async function listen(
  address: string,
  options: ListenOptions,
  engine: QuicEngine = sharedEngine,
): Promise<Listener> {
  const { scheme, host, port } = parseAddress(address);
  const [ip = host] = await resolveHost(host);
  if (scheme === "tls") return openTlsListener(ip, port, options);
  return scheme === "any" && isLoopback(host)
    ? listenLocal(ip, port, options, engine)
    : openQuicListener(ip, port, options, engine);
}

/** Milliseconds for a handshake on this machine, until the other transport is tried. */
const LOCAL_HANDSHAKE = 4_000;
/** The failures that mean that no listener of ours is there. */
const NOBODY: ReadonlySet<string> = new Set(["refused", "timeout"]);

/**
 * Over TLS where that is served: it takes a third of QUIC's time and CPU on this machine, since it
 * needs no engine. Programs of other makers serve only QUIC.
 */
async function connectLocal(
  address: Address,
  options: ConnectOptions,
  engine: QuicEngine,
): Promise<Connection> {
  const { handshakeTimeout } = resolveConnectionLimits(options.limits);
  const limits = {
    ...options.limits,
    handshakeTimeout: Math.min(LOCAL_HANDSHAKE, handshakeTimeout),
  };
  let failure: unknown;
  try {
    return await connectTls({ ...address, scheme: "tls" }, { ...options, limits });
  } catch (error) {
    if (options.signal?.aborted === true || troubleOf(error) === "unusable") throw error;
    failure = error;
  }
  try {
    return await connectQuic(address, options, engine);
  } catch (error) {
    // The error of the transport that was answered says more than one about silence.
    throw NOBODY.has(troubleOf(error)) && !NOBODY.has(troubleOf(failure)) ? failure : error;
  }
}

function troubleOf(error: unknown): string {
  return error instanceof ConnectionError ? error.trouble : "";
}

/** Troubles of one address of a host after which its next address is tried. */
const RETRIED: ReadonlySet<string> = new Set(["refused", "network"]);

/** Connects to the first address of the host that answers. */
async function connectQuic(
  address: Address,
  options: ConnectOptions,
  engine: QuicEngine,
): Promise<QuicConnection> {
  options.signal?.throwIfAborted();
  let failure: unknown;
  for (const host of await resolveHost(address.host)) {
    try {
      return await connectHost(host, address, options, engine);
    } catch (error) {
      // The error of the first address is reported: people know that address.
      failure ??= error;
      const mayTryNext = error instanceof ConnectionError && RETRIED.has(error.trouble);
      if (!mayTryNext) throw error;
    }
  }
  throw failure;
}

async function connectHost(
  host: string,
  address: Address,
  options: ConnectOptions,
  engine: QuicEngine,
): Promise<QuicConnection> {
  const { credentials, serverName = address.host, alpn = BUS_ALPN, signal } = options;
  const limits = resolveConnectionLimits(options.limits);
  const settings = {
    ...limits,
    host,
    port: address.port,
    serverName,
    tls: { ...credentials, alpn },
  };
  const { held = new HeldBytes(limits.maxHeld) } = options;
  const text = formatAddress({ ...address, scheme: "quic" });
  const connection = await engine.dial(settings, text, held);
  using ends = new DisposableStack();
  ends.defer(onAbort(signal, () => connection.cancel()));
  return await connection.opened;
}

/** Free ports that are tried until one is free for TCP and UDP. */
const MOST_PORTS = 20;

/**
 * Takes connections of this machine at one port: over TLS, which is the faster one here, and over
 * QUIC, which is all that programs of other makers speak.
 */
async function listenLocal(
  host: string,
  port: number,
  options: ListenOptions,
  engine: QuicEngine,
): Promise<Listener> {
  for (let attempt = 1; ; attempt += 1) {
    const tcp = await openTlsListener(host, port, options);
    try {
      return bothOf(host, tcp, await openQuicListener(host, tcp.port, options, engine));
    } catch (error) {
      await tcp[Symbol.asyncDispose]();
      const isTaken = error instanceof ConnectionError && /in use/i.test(error.message);
      if (port !== 0 || !isTaken || attempt >= MOST_PORTS) throw error;
    }
  }
}

function bothOf(host: string, tcp: Required<Listener>, quic: Listener): Listener {
  const { port } = tcp;
  return {
    port,
    address: formatAddress({ scheme: "any", host, port }),
    renew: async (credentials) => {
      await Promise.all([tcp.renew(credentials), quic.renew(credentials)]);
    },
    take: (socket) => tcp.take(socket),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([tcp[Symbol.asyncDispose](), quic[Symbol.asyncDispose]()]);
    },
  };
}

/** Connects over TLS 1.3: on this machine, and through networks that let no UDP through. */
async function connectTls(address: Address, options: ConnectOptions): Promise<SocketConnection> {
  const { signal, held } = options;
  signal?.throwIfAborted();
  const limits = resolveConnectionLimits(options.limits);
  const text = formatAddress(address);
  const reached = await socketTo(address, options);
  const addresses = reached === undefined ? await resolveHost(address.host) : [];
  const way = reached === undefined ? { lookup: lookupOf(addresses) } : { socket: reached };
  let socket: tls.TLSSocket;
  try {
    signal?.throwIfAborted();
    const given = settings(address, options);
    socket = withCertificates(`connect to ${text}`, () => tls.connect({ ...given, ...way }));
  } catch (error) {
    reached?.destroy();
    throw error;
  }
  const giveUp = (trouble: QuicFailure, detail: string): unknown =>
    socket.destroy(cannotConnect(text, trouble, detail));
  const late = (): unknown => giveUp("timeout", "the handshake took too long");
  using ends = new DisposableStack();
  ends.use(setTimeout(late, limits.handshakeTimeout));
  ends.defer(onAbort(signal, () => giveUp("cancelled", "it was cancelled on this side")));
  try {
    await secured(socket, text);
    socket.setNoDelay(true).setKeepAlive(true, limits.keepAlive);
    const peer = peerOf(socket);
    if (socket.alpnProtocol === false) {
      throw cannotConnect(text, "wrong-alpn", "no protocol in common");
    }
    const connection = new SocketConnection(socket, { address: text, peer, limits, held });
    connection.start();
    await connection.ready;
    return connection;
  } catch (error) {
    socket.destroy();
    if (options.credentials.cert !== undefined || !isBadCertificate(error)) throw error;
    throw cannotConnect(text, "no-certificate", "a certificate is required, and none was shown");
  }
}

/** The connection to carry it, where the address is in another network. */
async function socketTo(address: Address, options: ConnectOptions): Promise<Socket | undefined> {
  try {
    return await options.reach?.(address.port, options.signal);
  } catch (error) {
    options.signal?.throwIfAborted();
    throw cannotConnect(formatAddress(address), "refused", (error as Error).message);
  }
}

function isBadCertificate(error: unknown): boolean {
  return error instanceof ConnectionError && error.trouble === "bad-certificate";
}

function settings(address: Address, options: ConnectOptions): tls.ConnectionOptions {
  const { credentials, alpn, serverName = address.host } = options;
  return {
    host: address.host,
    port: address.port,
    // An IP address is no server name, but is checked against the certificate all the same.
    ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
    checkServerIdentity: (_host, certificate) => tls.checkServerIdentity(serverName, certificate),
    ...credentials,
    minVersion: "TLSv1.3",
    ALPNProtocols: [tlsAlpn(alpn)],
  };
}

/** Gives Node the addresses of the host, which it tries one after the other. */
function lookupOf(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (host, { all }, done) => {
    if (all === true) done(null, found);
    else done(null, found[0]?.address ?? host, found[0]?.family);
  };
}

async function secured(socket: tls.TLSSocket, address: string): Promise<void> {
  const handshake = Promise.withResolvers<void>();
  socket.once("secureConnect", handshake.resolve);
  socket.once("error", handshake.reject);
  socket.once("close", () => handshake.reject(new Error("the connection was closed")));
  try {
    await handshake.promise;
  } catch (error) {
    if (error instanceof ConnectionError) throw error;
    // With several addresses, the failure of the first one is reported.
    const errors = error instanceof AggregateError ? error.errors : [];
    const first = (errors[0] ?? error) as Error;
    throw cannotConnect(address, tlsTrouble(first), first.message);
  }
}

function cannotConnect(address: string, trouble: QuicFailure, detail: string): ConnectionError {
  return ConnectionError.of(`Cannot connect to ${address}`, { trouble, detail });
}

/** Accepts connections over TLS 1.3. */
async function openTlsListener(host: string, wanted: number, options: ListenOptions) {
  const limits = resolveConnectionLimits(options.limits);
  const where = formatAddress({ scheme: "tls", host, port: wanted });
  const make = () =>
    tls.createServer({
      ...options.credentials,
      minVersion: "TLSv1.3",
      requestCert: true,
      // Checked below: a certificate that was sent must be valid, even if none is required.
      rejectUnauthorized: false,
      ALPNProtocols: [tlsAlpn(options.alpn)],
      handshakeTimeout: limits.handshakeTimeout,
    });
  const server = withCertificates(`listen on ${where}`, make);
  const connections = new AdmittedConnections<SocketConnection>(options, limits);
  /** Connections whose handshake is not complete, the oldest first. */
  const arriving = new Map<string, Socket>();
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    const closed = Promise.withResolvers<void>();
    server.close(() => closed.resolve());
    for (const socket of arriving.values()) socket.destroy();
    await connections.close();
    await closed.promise;
  };
  /**
   * Anybody on this machine can connect and send nothing. If too many do, the oldest of them is
   * closed: a peer with a certificate completes its handshake in a moment.
   */
  const arrived = (socket: Socket): void => {
    const key = endOf(socket);
    arriving.set(key, socket);
    socket.once("close", () => {
      arriving.delete(key);
      memoryReturn().connectionEnded();
    });
    if (arriving.size <= limits.maxConnections) return;
    const [oldest] = arriving.values();
    oldest?.destroy();
  };
  const accept = (socket: tls.TLSSocket): void => {
    socket.on("error", () => {});
    const problem = problemWith(socket);
    if (problem !== undefined) {
      socket.destroy();
      refuse(problem);
      return;
    }
    arriving.delete(endOf(socket));
    if (closing === undefined) letIn(socket);
    else socket.destroy();
  };
  const letIn = (socket: tls.TLSSocket): void => {
    socket.setNoDelay(true).setKeepAlive(true, limits.keepAlive);
    const connection = new SocketConnection(socket, {
      ...{ address, peer: peerOf(socket), limits },
      accept: (stream, by) => options.stream(stream, by),
      crowded: boundUnsent,
    });
    const isFull = connections.all.size >= limits.maxConnections;
    const detail = isFull ? "too many connections" : connections.problemWith(connection);
    if (detail !== undefined) {
      socket.destroy();
      refuse({ trouble: "full", detail });
      return;
    }
    connections.add(connection);
    options.connected?.(connection);
    connection.start();
  };
  const problemWith = (socket: tls.TLSSocket): EndReason | undefined => {
    // ALPN has chosen one of the offered protocols, or none.
    if (socket.alpnProtocol === false) {
      return { trouble: "wrong-alpn", detail: "no protocol in common" };
    }
    const isShown = socket.getPeerX509Certificate() !== undefined;
    const isRequired = (options.clientCertificate ?? "require") === "require";
    if (!isShown && isRequired) {
      return { trouble: "no-certificate", detail: "a certificate is required, and none was shown" };
    }
    if (!isShown || socket.authorized) return undefined;
    const error = new Error(String(socket.authorizationError));
    return { trouble: tlsTrouble(error), detail: error.message };
  };
  const refuse = (ending: EndReason): void => {
    const what = `Cannot let a client in at ${address}`;
    options.refused?.(ConnectionError.of(what, ending));
  };
  /** Limits a client that opens many connections and reads none of them. */
  const boundUnsent = (): void => {
    const open = [...connections.all].filter((connection) => !connection.isClosed);
    const unsent = open.reduce((sum, connection) => sum + connection.unsent, 0);
    if (unsent <= limits.maxUnsent) return;
    open.toSorted((a, b) => b.unsent - a.unsent)[0]?.cutUnread();
  };
  server.on("connection", arrived);
  server.on("secureConnection", accept);
  server.on("tlsClientError", (error, socket) => {
    // After the timeout Node only emits an event, and leaves the connection open.
    socket.destroy();
    refuse({ trouble: tlsTrouble(error), detail: error.message });
  });
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject).listen(wanted, host, listening.resolve);
  try {
    await listening.promise;
  } catch (error) {
    connections.stop();
    const why = (error as Error).message;
    throw new ConnectionError("unusable", `Cannot listen on ${where}: ${why}.`);
  }
  server.on("error", () => {});
  const { port } = server.address() as AddressInfo;
  const address = formatAddress({ scheme: "tls", host, port });
  return {
    port,
    address,
    renew: async (credentials: Credentials): Promise<void> =>
      withCertificates(`renew the certificates of ${address}`, () => {
        server.setSecureContext(credentials);
      }),
    take(socket: Socket): void {
      if (closing === undefined) server.emit("connection", socket);
      else socket.destroy();
    },
    [Symbol.asyncDispose]: (): Promise<void> => (closing ??= close()),
  };
}

/** A key that differs for each open connection. */
function endOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}
