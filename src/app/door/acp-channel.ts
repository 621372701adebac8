import { once } from "node:events";
import { WebSocket } from "ws";

import { TrunklineError } from "../../base/errors.ts";
import { AcpDoor } from "../../protocol/acp/door.ts";
import { mayControl, type Principal } from "../../base/principal.ts";
import { MoveTokens } from "../../session/open/move/move-tokens.ts";
import { agentLogin } from "./agent-login.ts";
import { AcpConversation } from "../../protocol/acp/serve.ts";
import type { Channel } from "../../wire/channel.ts";
import { memoryPair } from "../../wire/channel/memory.ts";
import { webSocketChannel, webSocketSettings } from "../../wire/channel/websocket.ts";
import type { AppContext } from "../../config/app-context.ts";
import { LazyRuns } from "../../run/open/lazy-runs.ts";
import { LazySessions } from "../session/lazy-sessions.ts";

/** A channel to a door in this process. The stack closes the door and its sessions. */
export function ownAcpChannel(app: AppContext, opened: AsyncDisposableStack): Channel<string> {
  const runs = opened.use(new LazyRuns(app));
  const sessions = opened.use(new LazySessions(app, { runs }));
  const door = new AcpDoor({
    sessions: sessions.open,
    limits: app.config.limits.messages,
    ...sessions.sharing.holders,
    ...agentLogin(app),
    setUpSession: (params, principal) => runs.place(params, principal),
  });
  const [ours, theirs] = memoryPair();
  const conversation = new AcpConversation(door, theirs, {
    peer: app.withLimits(door.peerOptions),
  });
  opened.defer(() => conversation.close(0));
  return ours;
}

/**
 * A channel to a session that has moved to a gateway, with the token by which it was moved. Whoever may do
 * less here than its owner would get the owner's rights there.
 */
export async function reachGateway(
  data: string,
  { url, session }: { readonly url: string; readonly session: string },
  principal: Principal,
  env = process.env,
): Promise<Channel<string>> {
  const isFull = mayControl(principal) && principal.limits === undefined;
  const token = isFull ? await new MoveTokens(data, env).get(session) : undefined;
  if (token !== undefined) return await remoteAcpChannel(url, token);
  throw new TrunklineError("unavailable", "There is no token for the place of this session.");
}

/** Milliseconds; a server that is no gateway may never answer. */
const CONNECT_TIMEOUT = 10_000;

/** A channel to the door of a gateway that runs, `ws://…/acp`. */
export async function remoteAcpChannel(
  url: string,
  token: string | undefined,
): Promise<Channel<string>> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  try {
    const handshakeTimeout = CONNECT_TIMEOUT;
    const socket = new WebSocket(url, { headers, handshakeTimeout, ...webSocketSettings() });
    await once(socket, "open");
    return webSocketChannel(socket);
  } catch (error) {
    const { message } = error as Error;
    const next = / 40[13]$/.test(message)
      ? "It asks for a token: set TRUNKLINE_TOKEN."
      : "Is `trunkline serve` running there?";
    throw new TrunklineError("unavailable", `Cannot connect to '${url}': ${message}. ${next}`, {
      cause: error,
    });
  }
}
