import type { Principal } from "../../base/principal.ts";
import { isId } from "../../rpc/message/id.ts";
import { Peer } from "../../rpc/peer.ts";
import type { PeerOptions, Trace } from "../../rpc/peer-options.ts";
import type { Channel } from "../../wire/channel.ts";
import { AcpConnection, type SendText } from "./connection.ts";
import type { AcpDoor } from "./door.ts";
import { objectOf } from "./methods.ts";

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
    const trace = peer.trace && new SessionTrace(peer.trace);
    const traced = trace === undefined ? peer : { ...peer, trace };
    this.#peer = new Peer(channel, this.#connection, traced);
    // An update is serialized once, for the log and for all clients, so it bypasses the peer.
    this.#connection.open(this.#peer, (text, sessionId) => {
      trace?.sent(text);
      return send(text, sessionId);
    });
  }

  /** Resolves when the client has finished sending or is disconnected. */
  get ended(): Promise<void> {
    return this.#peer.ended;
  }

  /** Answers open requests within the grace. The client's sessions continue. */
  async close(grace: number): Promise<void> {
    await this.#peer.close(grace);
    this.#connection.close();
    this.#door.leave(this.#connection);
  }
}

/** ACP message specification § Logging: adds the session to logged answers, which only their requests name. */
class SessionTrace implements Trace {
  readonly #trace: Trace;
  readonly #asked = new Map<unknown, unknown>();

  constructor(trace: Trace) {
    this.#trace = trace;
  }

  received(message: unknown): void {
    const { id, method, params } = objectOf(message);
    const { sessionId } = objectOf(params);
    // A request with an invalid id is answered with null, so its entry would never be removed.
    if (method !== undefined && isId(id) && sessionId !== undefined) this.#asked.set(id, sessionId);
    this.#trace.received(message);
  }

  sent(text: string): void {
    const { id, method } = JSON.parse(text) as { id?: unknown; method?: unknown };
    const session = method === undefined ? this.#asked.get(id) : undefined;
    if (session !== undefined) this.#asked.delete(id);
    this.#trace.sent(text, session);
  }
}
