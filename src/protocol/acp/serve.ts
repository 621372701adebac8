import type { Principal } from "../../base/principal.ts";
import { isId } from "../../rpc/message/message.ts";
import { Peer } from "../../rpc/peer.ts";
import type { PeerOptions, Trace } from "../../rpc/peer-options.ts";
import type { Channel } from "../../wire/channel.ts";
import type { SessionClient } from "../../session/client/client.ts";
import { AcpConnection } from "./connection.ts";
import type { AcpDoor } from "./door.ts";
import { objectOf } from "./methods.ts";
import { type SendText, SessionLinks } from "./relay/session-links.ts";
import { reopenSession } from "./serve-sessions.ts";

export interface ConversationOptions {
  /** The door's, with its trace. */
  readonly peer: PeerOptions<AcpConnection>;
  /** Who is connected; the owner where the transport does not tell. */
  readonly principal?: Principal | undefined;
  /** The agent for new sessions, where the client does not name one. */
  readonly agent?: string | undefined;
  /** How updates are sent, for channels with a stream for each session. */
  readonly send?: SendText;
}

/** Serves one client until its channel ends. */
export class AcpConversation {
  readonly #door: AcpDoor;
  readonly #connection: AcpConnection;
  readonly #peer: Peer<AcpConnection>;

  constructor(door: AcpDoor, channel: Channel<string>, options: ConversationOptions) {
    const { peer, principal, agent, send = (text) => channel.send(text) } = options;
    this.#door = door;
    this.#connection = new AcpConnection(principal, agent);
    const trace = peer.trace && sessionTrace(peer.trace);
    const traced = trace === undefined ? peer : { ...peer, trace };
    // An update is serialized once, for the log and for all clients, so it bypasses the peer.
    const sendText: SendText = (text, sessionId) => {
      trace?.sent(text);
      return send(text, sessionId);
    };
    const links = linksOf(door, this.#connection, sendText);
    this.#peer = new Peer(links?.through(channel) ?? channel, this.#connection, traced);
    this.#connection.open(this.#peer, sendText, links);
  }

  /** The client, as sessions know it. */
  get client(): SessionClient {
    return this.#connection;
  }

  /** Resolves when the client has finished sending or is disconnected. */
  get ended(): Promise<void> {
    return this.#peer.ended;
  }

  /** Answers open requests within the grace. The client's sessions continue. */
  async close(grace: number): Promise<void> {
    await this.#peer.close(grace);
    await this.#connection.links?.close();
    this.#connection.close();
    this.#door.leave(this.#connection);
  }
}

function linksOf(door: AcpDoor, client: AcpConnection, send: SendText): SessionLinks | undefined {
  const { reach, isStopped, takeOverWithin, relayed } = door.options;
  if (reach === undefined) return undefined;
  return new SessionLinks({
    ...{ reach, isStopped, takeOverWithin, relayed, client, send },
    takeOver: async (params, after) => {
      const session = await reopenSession(door, params, client);
      await session.replayTo(client, after);
      client.showState(session.id, session.isRunning);
    },
    depose: async (id, holder) => (await door.about(id, client)).depose(id, holder),
    endOf: async (id, prompt, after) => {
      const { origin } = client;
      return (await door.sessions()).endOfPrompt(id, { prompt, origin }, after);
    },
  });
}

/** ACP message specification § Logging: adds the session to logged answers, which only their requests name. */
function sessionTrace(trace: Trace): Trace {
  const asked = new Map<unknown, unknown>();
  return {
    received(message) {
      const { id, method, params } = objectOf(message);
      const { sessionId } = objectOf(params);
      // A request with an invalid id is answered with null, so its entry would never be removed.
      if (method !== undefined && isId(id) && sessionId !== undefined) asked.set(id, sessionId);
      trace.received(message);
    },
    sent(text) {
      const { id, method } = JSON.parse(text) as { id?: unknown; method?: unknown };
      const session = method === undefined ? asked.get(id) : undefined;
      if (session !== undefined) asked.delete(id);
      trace.sent(text, session);
    },
  };
}
