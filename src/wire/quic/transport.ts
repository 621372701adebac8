import { type Address, formatAddress, parseAddress, resolveHost } from "./address.ts";
import {
  BUS_ALPN,
  type Connection,
  type ConnectOptions,
  type Listener,
  type ListenOptions,
  resolveConnectionLimits,
} from "./connection.ts";
import { ConnectionError } from "./connection-error.ts";
import type { QuicConnection } from "./quic-connection.ts";
import { type QuicEngine, sharedEngine } from "./quic-engine.ts";
import { connectTls } from "./tls/connect-tls.ts";
import { QuicListener } from "./quic-listener.ts";
import { TlsListener } from "./tls/tls-listener.ts";

/** Connects to `quic://host:port`, `tls://host:port`, or `host:port` for QUIC. */
export async function connect(
  address: string,
  options: ConnectOptions,
  engine: QuicEngine = sharedEngine,
): Promise<Connection> {
  const parsed = parseAddress(address);
  return parsed.scheme === "tls"
    ? connectTls(parsed, options)
    : connectQuic(parsed, options, engine);
}

/** Listens at an address; port 0 picks a free one. */
export async function listen(
  address: string,
  options: ListenOptions,
  engine: QuicEngine = sharedEngine,
): Promise<Listener> {
  const { scheme, host, port } = parseAddress(address);
  const [ip = host] = await resolveHost(host);
  return scheme === "tls"
    ? TlsListener.open(ip, port, options)
    : QuicListener.open(ip, port, options, engine);
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
  const connection = await engine.dial(settings, formatAddress(address), limits, options.held);
  const giveUp = (): void => connection.cancel();
  signal?.addEventListener("abort", giveUp, { once: true });
  if (signal?.aborted === true) giveUp();
  try {
    return await connection.opened;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}
