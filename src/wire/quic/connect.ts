import { parseAddress } from "./address.ts";
import type { Connection, ConnectOptions } from "./connection.ts";
import { connectQuic } from "./connect-quic.ts";
import { connectTls } from "./tls/connect-tls.ts";

/** Connects to `quic://host:port`, `tls://host:port`, or `host:port` for QUIC. */
export async function connect(address: string, options: ConnectOptions): Promise<Connection> {
  const parsed = parseAddress(address);
  return parsed.scheme === "tls" ? connectTls(parsed, options) : connectQuic(parsed, options);
}
