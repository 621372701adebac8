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
  /** Who is there; the owner where the transport does not tell. */
  readonly principal?: Principal | undefined;
  /** Who works in its new sessions, where it does not say. */
  readonly agent?: string | undefined;
  /** How updates leave, where that is a way of their own for each session. */
  readonly send?: SendText;
}

/** One client at the door, for as long as its channel lasts. */
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
    // An update is stringified once, for the log and for all clients.
    this.#connection.open(this.#peer, (text, sessionId) => {
      trace?.sent(text);
      return send(text, sessionId);
    });
  }

  /** Resolves when the client has finished sending, or is gone. */
  get ended(): Promise<void> {
    return this.#peer.ended;
  }

  /** Answers what is in flight within the grace. What the client's sessions do goes on. */
  async close(grace: number): Promise<void> {
    await this.#peer.close(grace);
    this.#connection.close();
    this.#door.leave(this.#connection);
  }
}

/** Has the log say of answers, too, which session they are of: only their requests know. */
class SessionTrace implements Trace {
  readonly #trace: Trace;
  readonly #asked = new Map<unknown, unknown>();

  constructor(trace: Trace) {
    this.#trace = trace;
  }

  received(message: unknown): void {
    const { id, method, params } = objectOf(message);
    const { sessionId } = objectOf(params);
    // What is no id is answered without one, and would be kept for good.
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
