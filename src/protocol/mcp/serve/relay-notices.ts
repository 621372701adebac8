import { background } from "../../../base/background.ts";
import type { Peer } from "../../../rpc/peer.ts";
import type { Notices } from "../../../tool/notices.ts";
import { mayHave } from "../../../tool/tool-access.ts";
import { ROOM } from "../../../wire/channel.ts";
import type { Connection } from "./connection.ts";
import { isWanted, MCP_LEVELS } from "../log-levels.ts";
import { EVENTS } from "../methods.ts";

const relaying = new WeakSet<Connection>();

/**
 * Passes notices on to a client: all of the level that it has asked for, and before it has, which
 * leaves the choice to the server, those that are news. Up to 2025-11-25 only: later clients ask for
 * messages by the request, and a notice belongs to none. What comes while the client reads more
 * slowly than it is told is left out.
 */
export function relayNotices(
  notices: Notices,
  connection: Connection,
  peer: Peer<Connection>,
): void {
  if (relaying.has(connection)) return;
  relaying.add(connection);
  let isBehind = false;
  const stop = notices.on(({ level, logger, data, message, scope, isNews = false }) => {
    if (!mayHave(connection.principal, scope)) return;
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
