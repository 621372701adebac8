import { background } from "../../../../base/background.ts";
import { ROOM } from "../../../../wire/channel.ts";
import type { EventResponse } from "../../../../wire/channel/event-response.ts";
import type { EventLog } from "./event-log.ts";

/**
 * One stream of events of a session. It outlives its connection: what is sent meanwhile is logged,
 * and a connection that comes later gets what the one before it may have missed.
 */
export class EventStream {
  readonly id: number;
  readonly #log: EventLog<EventStream>;
  #response: EventResponse | undefined;
  /** The number of the last event that went to a connection. */
  #sent = 0;
  #connectedAt = 0;
  /** Nothing more will be sent. */
  isFinished = false;

  constructor(id: number, log: EventLog<EventStream>) {
    this.id = id;
    this.#log = log;
  }

  get isConnected(): boolean {
    return this.#response?.isOpen === true;
  }

  /** Puts the stream on a connection, after an event of a certain number or after the last sent. */
  connect(response: EventResponse, after = this.#sent): void {
    this.#response = response;
    this.#connectedAt = performance.now();
    for (const event of this.#log.after(this, after)) response.send(event);
    this.#sent = this.#log.last;
    if (this.isFinished) response.end();
  }

  /** The priming event (§ Sending Messages to the Server): an id to resume from, and when to retry. */
  prime(retry: number): void {
    const id = `${this.id}-${this.#log.last}`;
    background(this.#response?.send(`id: ${id}\nretry: ${retry}\ndata: \n\n`), "Sending an event");
  }

  send(message: string): Promise<void> {
    if (this.isFinished) return ROOM;
    const event = this.#log.add(this, message);
    const response = this.#response;
    if (response === undefined || !response.isOpen) return ROOM;
    this.#sent = this.#log.last;
    return response.send(event);
  }

  /** Sends a last message, and ends. */
  finish(message?: string): void {
    if (this.isFinished) return;
    this.isFinished = true;
    const last = message === undefined ? "" : this.#log.add(this, message);
    this.#response?.end(last);
  }

  /** Sends a keep-alive. A connection that has lasted too long is closed; the stream goes on. */
  keepAlive(longestConnection = Infinity): void {
    if (performance.now() - this.#connectedAt <= longestConnection) {
      this.#response?.keepAlive();
      return;
    }
    this.#response?.end();
    this.#response = undefined;
  }
}
