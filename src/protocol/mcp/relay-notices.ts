import type { Peer } from "../../rpc/peer.ts";
import type { Notices } from "../../tool/notices.ts";
import { ROOM } from "../../wire/channel.ts";
import type { Connection } from "./connection.ts";
import { isWanted, MCP_LEVELS } from "./log-levels.ts";
import { EVENTS } from "./methods.ts";

const relaying = new WeakSet<Connection>();

/**
 * Passes notices on to a client that has asked for messages of a level, from then on. Up to
 * 2025-11-25 only: later clients ask for messages by the request, and a notice belongs to none. What
 * comes while the client reads more slowly than it is told is left out.
 */
export function relayNotices(
  notices: Notices,
  connection: Connection,
  peer: Peer<Connection>,
): void {
  if (relaying.has(connection)) return;
  relaying.add(connection);
  let isBehind = false;
  const stop = notices.on(({ level, logger, data }) => {
    if (isBehind || !isWanted(level, connection.client.logLevel)) return;
    const room = peer.notify(EVENTS.message, { level: MCP_LEVELS[level], logger, data });
    if (room === ROOM) return;
    isBehind = true;
    void room.then(() => {
      isBehind = false;
    });
  });
  connection.onEnd(stop);
}
