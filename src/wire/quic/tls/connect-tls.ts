import { isIP, type LookupFunction, type Socket } from "node:net";
import { checkServerIdentity, connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { type Address, formatAddress, resolveHost } from "../address.ts";
import { type ConnectOptions, resolveConnectionLimits, tlsAlpn } from "../connection.ts";
import { ConnectionError, tlsTrouble, withCertificates } from "../connection-error.ts";
import { peerOf } from "../peer-certificate.ts";
import { SocketConnection } from "./socket-connection.ts";

/** Connects over TLS 1.3: on this machine, and through networks that let no UDP through. */
export async function connectTls(
  address: Address,
  options: ConnectOptions,
): Promise<SocketConnection> {
  const { signal, held } = options;
  signal?.throwIfAborted();
  const limits = resolveConnectionLimits(options.limits);
  const text = formatAddress(address);
  const reached = await socketTo(address, options);
  const addresses = reached === undefined ? await resolveHost(address.host) : [];
  const way = reached === undefined ? { lookup: lookupOf(addresses) } : { socket: reached };
  let socket: TLSSocket;
  try {
    signal?.throwIfAborted();
    const given = settings(address, options);
    socket = withCertificates(`connect to ${text}`, () => connect({ ...given, ...way }));
  } catch (error) {
    reached?.destroy();
    throw error;
  }
  const late = setTimeout(() => {
    const detail = "the handshake took too long";
    socket.destroy(ConnectionError.of(`Cannot connect to ${text}`, { trouble: "timeout", detail }));
  }, limits.handshakeTimeout);
  const giveUp = (): void => {
    const detail = "it was cancelled on this side";
    socket.destroy(
      ConnectionError.of(`Cannot connect to ${text}`, { trouble: "cancelled", detail }),
    );
  };
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    await secured(socket, text);
    socket.setNoDelay(true).setKeepAlive(true, limits.keepAlive);
    const peer = peerOf(socket);
    if (socket.alpnProtocol === false) {
      const detail = "no protocol in common";
      throw ConnectionError.of(`Cannot connect to ${text}`, { trouble: "wrong-alpn", detail });
    }
    const connection = new SocketConnection(socket, { address: text, peer, limits, held });
    connection.start();
    await connection.ready;
    return connection;
  } catch (error) {
    socket.destroy();
    if (options.credentials.cert !== undefined || !isBadCertificate(error)) throw error;
    const detail = "a certificate is required, and none was shown";
    throw ConnectionError.of(`Cannot connect to ${text}`, { trouble: "no-certificate", detail });
  } finally {
    clearTimeout(late);
    signal?.removeEventListener("abort", giveUp);
  }
}

/** The connection to carry it, where the address is in another network. */
async function socketTo(address: Address, options: ConnectOptions): Promise<Socket | undefined> {
  try {
    return await options.reach?.(address.port, options.signal);
  } catch (error) {
    options.signal?.throwIfAborted();
    const detail = (error as Error).message;
    const what = `Cannot connect to ${formatAddress(address)}`;
    throw ConnectionError.of(what, { trouble: "refused", detail });
  }
}

function isBadCertificate(error: unknown): boolean {
  return error instanceof ConnectionError && error.trouble === "bad-certificate";
}

function settings(address: Address, options: ConnectOptions): ConnectionOptions {
  const { credentials, alpn, serverName = address.host } = options;
  return {
    host: address.host,
    port: address.port,
    // An IP address is no server name, but is checked against the certificate all the same.
    ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
    checkServerIdentity: (_host, certificate) => checkServerIdentity(serverName, certificate),
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

async function secured(socket: TLSSocket, address: string): Promise<void> {
  const handshake = Promise.withResolvers<void>();
  socket.once("secureConnect", handshake.resolve);
  socket.once("error", handshake.reject);
  socket.once("close", () => handshake.reject(new Error("the connection was closed")));
  const what = `Cannot connect to ${address}`;
  try {
    await handshake.promise;
  } catch (error) {
    if (error instanceof ConnectionError) throw error;
    // Of several addresses, the failure of the first one is told.
    const [first = error] = error instanceof AggregateError ? (error.errors as Error[]) : [];
    const { message } = first as Error;
    throw ConnectionError.of(what, { trouble: tlsTrouble(first as Error), detail: message });
  }
}
