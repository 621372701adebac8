import { PLUGIN_UNIT } from "../protocol/bus/certificates/certificates.ts";
import type { Connection } from "../wire/quic/connection.ts";
import { ConnectionError } from "../wire/quic/connection-error.ts";

/**
 * The authority vouches for every program of the bus alike, and all of them are on this machine: who
 * dials one of them has to look whether it has come to another. Closes the connection then.
 */
export async function expectPlugin(connection: Connection, id: string): Promise<Connection> {
  const name = connection.peer?.name;
  if (name === id) return connection;
  return refuse(connection, `'${name ?? "nobody"}' serves there, not plugin '${id}'`);
}

export async function expectOrchestrator(connection: Connection): Promise<Connection> {
  if (!isPlugin(connection)) return connection;
  const name = connection.peer?.name ?? "";
  return refuse(connection, `plugin '${name}' serves there, not an orchestrator`);
}

/** Whether a plugin is at the other end, by its certificate. */
export function isPlugin({ peer }: Connection): boolean {
  return peer?.unit === PLUGIN_UNIT;
}

async function refuse(connection: Connection, why: string): Promise<never> {
  await connection.close();
  throw new ConnectionError("wrong-name", `Cannot go on with ${connection.address}: ${why}.`);
}
