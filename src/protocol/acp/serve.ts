import { Peer } from "../../rpc/peer.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import type { Channel } from "../../wire/channel.ts";
import { AcpConnection, type SendText } from "./connection.ts";
import type { AcpDoor } from "./door.ts";

/** One client at the door, for as long as its channel lasts. */
export class AcpConversation {
  readonly #door: AcpDoor;
  readonly #connection = new AcpConnection();
  readonly #peer: Peer<AcpConnection>;

  /** `options` are the door's, furnished. */
  constructor(
    door: AcpDoor,
    channel: Channel<string>,
    options: PeerOptions<AcpConnection>,
    send: SendText = (text) => channel.send(text),
  ) {
    this.#door = door;
    this.#peer = new Peer(channel, this.#connection, options);
    const { trace } = options;
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
