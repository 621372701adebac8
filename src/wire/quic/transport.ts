import { formatAddress, isLoopback, parseAddress, resolveHost, type Address } from "./address.ts";
import { ConnectionError } from "./connection-error.ts";
import {
  BUS_ALPN,
  resolveConnectionLimits,
  type ConnectOptions,
  type Connection,
  type ListenOptions,
  type Listener,
} from "./connection.ts";
import { sharedEngine, type QuicConnection, type QuicEngine } from "./quic-engine.ts";
import { QuicListener } from "./quic-listener.ts";
import { connectTls } from "./tls/connect-tls.ts";
import { TlsListener } from "./tls/tls-listener.ts";

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
  if (scheme === "tls") return TlsListener.open(ip, port, options);
  return scheme === "any" && isLoopback(host)
    ? listenLocal(ip, port, options, engine)
    : QuicListener.open(ip, port, options, engine);
}

/** Milliseconds for a handshake on this machine, until the other transport is tried. */
const LOCAL_HANDSHAKE = 4_000;
/** What goes wrong where nothing of ours listens. */
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
    // Who answered, if only over TLS, says more than that nobody does.
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
      // What the address that comes first says is the one that people know.
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
  const connection = await engine.dial(
    settings,
    formatAddress({ ...address, scheme: "quic" }),
    limits,
    options.held,
  );
  const giveUp = (): void => connection.cancel();
  signal?.addEventListener("abort", giveUp, { once: true });
  if (signal?.aborted === true) giveUp();
  try {
    return await connection.opened;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
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
    const tls = await TlsListener.open(host, port, options);
    try {
      return bothOf(host, tls, await QuicListener.open(host, tls.port, options, engine));
    } catch (error) {
      await tls[Symbol.asyncDispose]();
      const isTaken = error instanceof ConnectionError && /in use/i.test(error.message);
      if (port !== 0 || !isTaken || attempt >= MOST_PORTS) throw error;
    }
  }
}

function bothOf(host: string, tls: TlsListener, quic: QuicListener): Listener {
  const { port } = tls;
  return {
    port,
    address: formatAddress({ scheme: "any", host, port }),
    renew: async (credentials) => {
      await Promise.all([tls.renew(credentials), quic.renew(credentials)]);
    },
    take: (socket) => tls.take(socket),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([tls[Symbol.asyncDispose](), quic[Symbol.asyncDispose]()]);
    },
  };
}
