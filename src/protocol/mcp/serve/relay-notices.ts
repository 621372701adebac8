import { background } from "../../../base/background.ts";
import type { Peer } from "../../../rpc/peer.ts";
import { mayHave } from "../../../tool/policy.ts";
import { ROOM } from "../../../wire/channel.ts";
import type { Connection } from "./connection.ts";
import type { McpDoor } from "./door.ts";
import { isWanted, MCP_LEVELS } from "../log-levels.ts";
import { EVENTS } from "../methods.ts";

const relaying = new WeakSet<Connection>();

/**
 * Sends notices to the client of a session as `notifications/message`. Once the client has set a level
 * it gets all from that level on. Before, the server may choose (MCP 2025-11-25,
 * server/utilities/logging § Setting Log Level): it gets the important ones. Clients without sessions
 * ask for messages with each request, and a notice belongs to none. Notices are dropped while the
 * client reads too slowly.
 */
export function relayNotices(
  door: Pick<McpDoor, "offer" | "profileOf">,
  connection: Connection,
  peer: Peer<Connection>,
): void {
  if (relaying.has(connection)) return;
  relaying.add(connection);
  let isBehind = false;
  const { principal, folder } = connection;
  const stop = door.offer.notices.on((notice) => {
    const { level, logger, data, message, scope, server, concerns, isNews = false } = notice;
    if (!mayHave(principal, scope)) return;
    if (door.profileOf(connection.client, connection)?.hasServer(server) === false) return;
    if (folder !== undefined && concerns?.(folder) === false) return;
    if (isBehind || !(isNews || connection.hasSetLevel)) return;
    if (!isWanted(level, connection.client.logLevel)) return;
    const words = message === undefined ? {} : { message };
    const room = peer.notify(EVENTS.message, { level: MCP_LEVELS[level], ...words, logger, data });
    if (room === ROOM) return;
    isBehind = true;
    background(
      room.then(() => {
        isBehind = false;
      }),
      "Noting that there is room",
    );
  });
  connection.onEnd(stop);
}
