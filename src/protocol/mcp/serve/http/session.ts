import { accepted, type PostedMessage, reply } from "./reply.ts";
import { randomBytes } from "node:crypto";
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { background } from "../../../../base/background.ts";
import { Peer } from "../../../../rpc/peer.ts";
import { type Channel, ROOM, type Topic } from "../../../../wire/channel.ts";
import { EventResponse } from "../../../../wire/channel/event-response.ts";
import { isObject } from "../../../../base/check.ts";
import { Connection } from "../connection.ts";
import type { Principal } from "../../../../base/principal.ts";
import { EventLog, parseEventId } from "./event-log.ts";
import type { ResolvedMcpHttpOptions } from "./options.ts";

/**
 * One POST with requests in a session. Its answer is JSON, or events where something is sent before the
 * answer. MCP 2025-11-25, basic/transports: a lost connection is not a cancellation.
 */
interface Exchange {
  /** Ids of its requests that have no answer yet, as JSON texts. */
  readonly ids: Set<string>;
  readonly response: ServerResponse;
  stream?: EventStream;
  /** It has had no answer for a while. */
  isSlow?: true;
}

/** Why a stream cannot be resumed. */
export type ResumeProblem = "unknown" | "finished" | "connected";

/**
 * A session on HTTP (MCP 2025-11-25, basic/transports § Session Management): one conversation over many
 * exchanges. Messages that belong to a request go to its POST, all others to the GET stream.
 */
export class Session implements Channel<string> {
  // MCP 2025-11-25, basic/transports § Session Management: secure, and visible ASCII only.
  readonly id = randomBytes(24).toString("base64url");
  readonly connection: Connection;
  /** The principal who began it. */
  readonly owner: string;
  readonly peer: Peer<Connection>;
  readonly #options: ResolvedMcpHttpOptions;
  readonly #log: EventLog<EventStream>;
  /** The stream for messages outside requests. */
  readonly #own: EventStream;
  /** Streams that have not finished, by id. */
  readonly #streams = new Map<number, EventStream>();
  /** Exchanges that wait for an answer, by the ids of their requests. */
  readonly #exchanges = new Map<string, Exchange>();
  #lastStream = 0;
  /** When its client last sent something. */
  usedAt = performance.now();

  constructor(options: ResolvedMcpHttpOptions, principal: Principal) {
    this.#options = options;
    this.#log = new EventLog(options.limits);
    this.#own = new EventStream(0, this.#log);
    this.#streams.set(0, this.#own);
    this.connection = new Connection(principal);
    this.owner = principal.id;
    const door = options.door.optionsFor(this.connection);
    this.peer = new Peer<Connection>(this, this.connection, options.withLimits(door));
  }

  /** Milliseconds since it was last used; 0 while a client is connected. */
  get idle(): number {
    return this.#own.isConnected || this.#exchanges.size > 0 ? 0 : performance.now() - this.usedAt;
  }

  /**
   * Takes messages with requests; their answers go to the response. Where one has the id of a request
   * in flight, none is taken, and that id is returned.
   */
  exchange({ value, text, response }: PostedMessage, ids: Set<string>): string | undefined {
    for (const id of ids) if (this.#exchanges.has(id)) return id;
    const exchange = { ids, response };
    for (const id of ids) this.#exchanges.set(id, exchange);
    background(this.peer.message(text, value), "Taking a message");
    return undefined;
  }

  /** Takes messages without requests. */
  accept({ value, text }: Pick<PostedMessage, "value" | "text">): void {
    background(this.peer.message(text, value), "Taking a message");
    for (const message of [value].flat()) this.#noteCancel(message);
  }

  /** Opens the GET stream on a response. Returns false when it is open on another. */
  listen(response: ServerResponse): boolean {
    if (this.#own.isConnected) return false;
    const events = this.#events(response);
    events.flush();
    this.#own.connect(events);
    return true;
  }

  /** Resumes a stream after the last event that the client saw. */
  resume(lastEventId: string, response: ServerResponse): ResumeProblem | undefined {
    const at = parseEventId(lastEventId);
    if (at === undefined || at.stream > this.#lastStream) return "unknown";
    const stream = this.#streams.get(at.stream) ?? this.#log.streamOf(at.stream);
    if (stream === undefined) return "finished";
    if (stream.isConnected) return "connected";
    if (stream.isFinished && this.#log.after(stream, at.number).length === 0) return "finished";
    const events = this.#events(response);
    events.flush();
    stream.connect(events, at.number);
    return undefined;
  }

  keepAlive(): void {
    this.#own.keepAlive();
    const { polling } = this.connection.client.codec.has;
    const longest = polling ? this.#options.limits.longestConnection : Infinity;
    for (const exchange of new Set(this.#exchanges.values())) {
      // With the second keep-alive it becomes a stream, which the client can resume. A connection that
      // lasts too long is closed, and the client must resume it.
      if (exchange.isSlow) this.#streamOf(exchange)?.keepAlive(longest);
      exchange.isSlow = true;
    }
  }

  // For its peer:

  receive(): void {
    // Incoming messages are passed to the peer directly.
  }

  send(text: string, topic?: Topic): Promise<void> {
    const exchange = topic === undefined ? undefined : this.#exchanges.get(topic.request);
    if (topic?.isAnswer === true) {
      if (exchange !== undefined) {
        if (exchange.stream !== undefined) exchange.stream.finish(text);
        else if (!exchange.response.destroyed) reply(exchange.response, 200, text, this.#headers());
        for (const id of exchange.ids) this.#exchanges.delete(id);
        for (const [id, stream] of this.#streams) if (stream.isFinished) this.#streams.delete(id);
      }
      return ROOM;
    }
    // Where the client left before its response became a stream, use the GET stream.
    return (exchange && this.#streamOf(exchange)?.send(text)) ?? this.#own.send(text);
  }

  abort(): void {
    for (const stream of this.#streams.values()) stream.finish();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.connection[Symbol.dispose]();
    for (const exchange of new Set(this.#exchanges.values())) cancel(exchange);
    this.#exchanges.clear();
    for (const stream of this.#streams.values()) stream.finish();
    this.#streams.clear();
    this.#log.clear();
  }

  #events(response: ServerResponse): EventResponse {
    return new EventResponse(response, this.#options.channelLimits, this.#headers());
  }

  /** Sent with each response. Where `initialize` has failed there is no session to come back to. */
  #headers(): OutgoingHttpHeaders {
    return this.connection.isInitialized ? { "mcp-session-id": this.id } : {};
  }

  /** The events of an exchange, which begin with the first. Undefined where its client is gone. */
  #streamOf(exchange: Exchange): EventStream | undefined {
    if (exchange.stream === undefined && !exchange.response.destroyed) {
      const stream = new EventStream(++this.#lastStream, this.#log);
      this.#streams.set(stream.id, stream);
      stream.connect(this.#events(exchange.response), this.#log.last);
      if (this.connection.client.codec.has.polling) stream.prime(this.#options.limits.retry);
      exchange.stream = stream;
    }
    return exchange.stream;
  }

  /** A cancelled request gets no answer, so its exchange is ended here. */
  #noteCancel(message: unknown): void {
    if (!isObject(message) || message.method !== "notifications/cancelled") return;
    const id = isObject(message.params) ? JSON.stringify(message.params.requestId) : "";
    const exchange = this.#exchanges.get(id);
    if (exchange === undefined) return;
    this.#exchanges.delete(id);
    exchange.ids.delete(id);
    if (exchange.ids.size === 0) cancel(exchange);
  }
}

/** A cancelled request has no answer: ends its response. */
function cancel({ stream, response }: Exchange): void {
  if (stream !== undefined) stream.finish();
  else if (!response.destroyed) accepted(response);
}

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
