import { type Address, formatAddress, resolveHost } from "./address.ts";
import { BUS_ALPN, type ConnectOptions, resolveConnectionLimits } from "./connection.ts";
import { ConnectionError } from "./connection-error.ts";
import type { QuicConnection } from "./quic-connection.ts";
import { type QuicEngine, sharedEngine } from "./quic-engine.ts";

/** Connects to the first address of the host that answers. */
export async function connectQuic(
  address: Address,
  options: ConnectOptions,
  engine: QuicEngine = sharedEngine,
): Promise<QuicConnection> {
  options.signal?.throwIfAborted();
  let failure: unknown;
  for (const host of await resolveHost(address.host)) {
    try {
      return await connectHost(host, address, options, engine);
    } catch (error) {
      failure = error;
      const mayTryNext = error instanceof ConnectionError && RETRIED.has(error.trouble);
      if (!mayTryNext) throw error;
    }
  }
  throw failure;
}

const RETRIED: ReadonlySet<string> = new Set(["refused", "network"]);

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
