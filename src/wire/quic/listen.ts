import { parseAddress, resolveHost } from "./address.ts";
import type { Listener, ListenOptions } from "./connection.ts";
import { QuicListener } from "./quic-listener.ts";
import { TlsListener } from "./tls/tls-listener.ts";

/** Takes connections at an address; port 0 picks a free one. */
export async function listen(address: string, options: ListenOptions): Promise<Listener> {
  const { scheme, host, port } = parseAddress(address);
  const [ip = host] = await resolveHost(host);
  return scheme === "tls"
    ? TlsListener.open(ip, port, options)
    : QuicListener.open(ip, port, options);
}
