import { once } from "node:events";
import { WebSocket } from "ws";

import { TrunklineError } from "../../base/errors.ts";
import { AcpDoor } from "../../protocol/acp/door.ts";
import { isObject, objectIn } from "../../base/check.ts";
import { acpDialect } from "../../protocol/acp/dialect.ts";
import { CLIENT_METHODS } from "../../protocol/acp/methods.ts";
import { isId } from "../../rpc/message/message.ts";
import { readSubagentId } from "../../session/subagent.ts";
import { mayControl, type Principal } from "../../base/principal.ts";
import { MoveTokens } from "../../session/open/move/move-tokens.ts";
import { agentLogin } from "./agent-login.ts";
import { AcpConversation } from "../../protocol/acp/serve.ts";
import type { Channel, Room, Sink } from "../../wire/channel.ts";
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
  if (token !== undefined) return onlyAbout(await remoteAcpChannel(url, token), session);
  throw new TrunklineError("unavailable", "There is no token for the place of this session.");
}

/** What a gateway may tell and ask: not for files or commands of this machine. */
const TOLD: ReadonlySet<unknown> = new Set([
  ...["session/update", "session/request_permission", "elicitation/create"],
  ...["elicitation/complete", CLIENT_METHODS.queued.name],
]);

/** A channel to a machine that may be hostile: it speaks about one session, and of the rest nothing arrives. */
function onlyAbout(channel: Channel<string>, session: string): Channel<string> {
  const message = (text: string, sink: Sink<string>): void | Room => {
    const said = objectIn(text);
    const { id, method, params } = said ?? {};
    if (method === undefined) return isId(id) ? sink.message(text) : undefined;
    const about = isObject(params) ? String(params["sessionId"]) : "";
    const isIts = TOLD.has(method) && readSubagentId(about).session === session;
    // Written anew: another reader may find something else in the same text.
    if (isIts || method === acpDialect.cancel.method) return sink.message(JSON.stringify(said));
    const error = { code: -32601, message: "Method not found" };
    return isId(id) ? channel.send(JSON.stringify({ jsonrpc: "2.0", id, error })) : undefined;
  };
  return {
    receive: (sink) =>
      channel.receive({
        message: (text) => message(text, sink),
        fault: (fault) => sink.fault(fault),
        end: (error) => sink.end(error),
      }),
    send: (text, topic) => channel.send(text, topic),
    abort: (reason) => channel.abort(reason),
    [Symbol.asyncDispose]: () => channel[Symbol.asyncDispose](),
  };
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
