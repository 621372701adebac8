import { duplexPair } from "node:stream";
import {
  type BidiStream,
  type Connection,
  type PeerCertificate,
  resolveConnectionLimits,
} from "../../../wire/quic/connection.ts";
import { SocketConnection } from "../../../wire/quic/tls/socket-connection.ts";

/**
 * A connection inside the program, over a pair of streams. `serve` answers what is asked on it, and
 * `peer` is the certificate of whoever asks.
 */
export async function memoryConnection(
  serve: (stream: BidiStream, connection: Connection) => void,
  peer?: PeerCertificate,
): Promise<Connection> {
  const [server, client] = duplexPair();
  // What is written to a side that is gone would wait for ever.
  server.on("close", () => client.destroy());
  client.on("close", () => server.destroy());
  const options = { address: "memory", limits: resolveConnectionLimits() };
  new SocketConnection(server, { ...options, peer, accept: serve }).start();
  const connection = new SocketConnection(client, { ...options, peer: undefined });
  connection.start();
  await connection.ready;
  return connection;
}
