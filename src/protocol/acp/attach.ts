import { once } from "node:events";
import { WebSocket } from "ws";

import { TrunklineError } from "../../base/errors.ts";
import { AcpDoor } from "./door.ts";
import { acpDialect } from "./dialect.ts";
import { CLIENT_METHODS, METHODS } from "./methods.ts";
import type { PermissionParams, UpdateParams } from "./schema.gen.ts";
import { AcpConversation } from "./serve.ts";
import { Peer } from "../../rpc/peer.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { route, routes } from "../../rpc/route.ts";
import { VERSION } from "../../base/version.ts";
import type { Channel } from "../../wire/channel.ts";
import { memoryPair } from "../../wire/channel/memory.ts";
import { webSocketChannel, webSocketSettings } from "../../wire/channel/websocket.ts";
import type { House } from "../../gateway/house.ts";
import { LazySessions } from "../../gateway/session/lazy-sessions.ts";

export interface AttachOptions {
  /** A gateway that runs, `ws://…/acp`; where none is given the session is opened here. */
  readonly url?: string | undefined;
  readonly token?: string | undefined;
  readonly sessionId: string;
  readonly cwd: string;
  readonly update: (update: UpdateParams["update"]) => void;
  /** Chooses an option; undefined leaves the answer to the others. */
  readonly permit: (params: PermissionParams, signal: AbortSignal) => Promise<string | undefined>;
}

/** A person at a session. */
export interface Attached extends AsyncDisposable {
  prompt(text: string): Promise<string>;
  cancel(): void;
  /** Resolves when the gateway is gone. */
  readonly ended: Promise<void>;
}

/** Attaches to a session: shows all that was said in it, and takes part from then on. */
export async function attachTo(house: House, options: AttachOptions): Promise<Attached> {
  const { sessionId, cwd, update, permit } = options;
  await using opening = new AsyncDisposableStack();
  const channel = options.url === undefined ? here(house, opening) : await there(options);
  const peer = new Peer(channel, undefined, {
    dialect: acpDialect,
    routes: routes(
      route(CLIENT_METHODS.update, (params) => update(params.update)),
      route(CLIENT_METHODS.requestPermission, async (params, call) => {
        const optionId = await permit(params, call.signal);
        if (optionId !== undefined) return { outcome: { outcome: "selected", optionId } };
        // Somebody else may know: this one says nothing.
        return new Promise<never>(() => {});
      }),
    ),
  });
  opening.defer(() => peer.close());
  const clientInfo = { name: "terminal", version: VERSION };
  await peer.request(METHODS.initialize, { protocolVersion: 1, clientInfo });
  await peer.request(METHODS.loadSession, { sessionId, cwd, mcpServers: [] }).catch(inWords);
  const open = opening.move();
  return {
    ended: peer.ended,
    prompt: async (text) => {
      const prompt = [{ type: "text", text }];
      // What is typed ahead waits for its turn.
      const _meta = { trunkline: { whileRunning: "queue" } };
      const ended = peer.request(METHODS.prompt, { sessionId, prompt, _meta }).catch(inWords);
      return (await ended).stopReason;
    },
    cancel: () => {
      peer.notify(METHODS.cancel, { sessionId });
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** What was answered as an error, for a person to read. */
function inWords(error: unknown): never {
  if (!(error instanceof RpcError)) throw error;
  const { details } = (error.data ?? {}) as { readonly details?: unknown };
  const says = typeof details === "string" ? `${error.message}. ${details}` : error.message;
  throw new TrunklineError("unavailable", says, { cause: error });
}

/** The door of this house, without a wire. */
function here(house: House, opening: AsyncDisposableStack): Channel<string> {
  const sessions = opening.use(new LazySessions(house));
  const door = new AcpDoor({ sessions: sessions.open, limits: house.config.limits.messages });
  const [ours, theirs] = memoryPair();
  const conversation = new AcpConversation(door, theirs, {
    peer: house.withLimits(door.peerOptions),
  });
  opening.defer(() => conversation.close(0));
  return ours;
}

/** Milliseconds; whoever listens there may be no gateway, and say nothing. */
const CONNECT_TIMEOUT = 10_000;

async function there({ url = "", token }: AttachOptions): Promise<Channel<string>> {
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
