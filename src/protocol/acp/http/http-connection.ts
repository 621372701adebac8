import type { ServerResponse } from "node:http";

import { background } from "../../../base/background.ts";
import { Holding } from "../../../base/limit/byte-budget.ts";
import {
  type Channel,
  type ChannelLimits,
  ROOM,
  type Sink,
  SlowReaderError,
  type Topic,
} from "../../../wire/channel.ts";
import { EventResponse } from "../../../wire/channel/event-response.ts";
import { sessionOfTopic } from "../connection.ts";

/** An outgoing stream: that of the connection, or that of a session. */
interface EventStream {
  events: EventResponse | undefined;
  /** Messages that wait for a client to open the stream. */
  waiting: string[];
  size: number;
}

/** A message that a client has POSTed. */
export interface Posted {
  readonly text: string;
  /** The id of a request, as its answer spells it, and the session that it belongs to. */
  readonly id: string | undefined;
  readonly sessionId: string | undefined;
  /** Called with true when the message is read, with false when the connection ends first. */
  readonly settle: (isRead: boolean) => void;
}

/**
 * The channel of one client over many HTTP requests. Its messages arrive as POSTs; ours leave on event
 * streams that it opens, one for the connection and one for each session. Messages for a stream that
 * is not open are buffered, up to a limit.
 */
export class HttpConnection implements Channel<string> {
  readonly id = crypto.randomUUID();
  /** The principal who opened it. */
  readonly owner: string;
  readonly #limits: ChannelLimits;
  readonly #streams = new Map<string, EventStream>();
  /** Sessions of open requests, by the ids of the requests. */
  readonly #asked = new Map<string, string>();
  #sink: Sink<string> | undefined;
  #first: { readonly id: string; readonly answer: (text: string) => void } | undefined;
  #unread = 0;
  /** Messages that arrived while reading is paused. */
  readonly #held: Posted[] = [];
  #heldSize = 0;
  #isHolding = false;
  /** Counts unread and held messages against the byte budget. */
  readonly #holding = new Holding();
  #readAt = performance.now();
  #isOver = false;

  constructor(limits: ChannelLimits, owner: string) {
    this.#limits = limits;
    this.owner = owner;
  }

  receive(sink: Sink<string>): void {
    this.#sink = sink;
  }

  /** Delivers the client's `initialize`; its answer goes to `answer`. */
  initialize(text: string, id: string, answer: (text: string) => void): void {
    this.#first = { id, answer };
    background(this.#sink?.message(text), "Taking a message");
  }

  /** Delivers a message, or queues it while reading is paused. False if the queue is full. */
  take(posted: Posted): boolean {
    this.#readAt = performance.now();
    if (!this.#isHolding) {
      this.#read(posted);
      return true;
    }
    const size = this.#heldSize + posted.text.length;
    if (size > this.#limits.maxUnsent || !this.#holding.set(size + this.#unread)) return false;
    this.#heldSize = size;
    this.#held.push(posted);
    return true;
  }

  /** Opens a stream for reading. False if it is open already. */
  open(sessionId: string, response: ServerResponse): boolean {
    const stream = this.#stream(sessionId);
    if (stream.events?.isOpen === true) return false;
    const events = new EventResponse(response, this.#limits);
    events.flush();
    stream.events = events;
    for (const text of stream.waiting.splice(0)) events.send(eventOf(text));
    this.#unread -= stream.size;
    this.#count();
    stream.size = 0;
    response.on("close", () => {
      this.#readAt = performance.now();
      // Clients may use any name, so an empty stream is forgotten when it closes.
      if (stream.events === events && stream.waiting.length === 0) this.#streams.delete(sessionId);
    });
    return true;
  }

  send(text: string, topic?: Topic): Promise<void> {
    if (this.#isOver) return ROOM;
    const first = this.#first;
    if (first !== undefined && topic?.isAnswer === true && topic.request === first.id) {
      this.#first = undefined;
      first.answer(text);
      return ROOM;
    }
    return this.sendTo(this.#sessionOf(topic), text);
  }

  /** Sends on the stream of a session; "" is the stream of the connection. */
  sendTo(sessionId: string, text: string): Promise<void> {
    const stream = this.#stream(sessionId);
    if (stream.events?.isOpen === true) return stream.events.send(eventOf(text));
    stream.waiting.push(text);
    stream.size += text.length;
    this.#unread += text.length;
    const { maxUnsent } = this.#limits;
    if (this.#unread > maxUnsent || !this.#count())
      this.abort(new SlowReaderError(this.#unread, maxUnsent));
    return ROOM;
  }

  /** Milliseconds without an open stream or a message. */
  get idle(): number {
    const isRead = this.#streams.values().some((stream) => stream.events?.isOpen === true);
    return isRead ? 0 : performance.now() - this.#readAt;
  }

  keepAlive(): void {
    for (const { events } of this.#streams.values()) events?.keepAlive();
  }

  abort(reason: Error): void {
    if (this.#isOver) return;
    this.#close();
    this.#sink?.end(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
  }

  #count(): boolean {
    return this.#holding.set(this.#unread + this.#heldSize);
  }

  #close(): void {
    this.#isOver = true;
    this.#holding.set(0);
    for (const { settle } of this.#held.splice(0)) settle(false);
    for (const { events } of this.#streams.values()) events?.end();
    this.#streams.clear();
  }

  #read({ text, id, sessionId, settle }: Posted): void {
    settle(true);
    if (id !== undefined && sessionId !== undefined) this.#asked.set(id, sessionId);
    const room = this.#sink?.message(text);
    if (room === undefined) return;
    this.#isHolding = true;
    background(
      room.then(() => this.#readOn()),
      "Reading on",
    );
  }

  #readOn(): void {
    this.#isHolding = false;
    while (!this.#isHolding && !this.#isOver) {
      const next = this.#held.shift();
      if (next === undefined) return;
      this.#heldSize -= next.text.length;
      this.#count();
      this.#read(next);
    }
  }

  #stream(sessionId: string): EventStream {
    const none = (): EventStream => ({ events: undefined, waiting: [], size: 0 });
    return this.#streams.getOrInsertComputed(sessionId, none);
  }

  #sessionOf(topic: Topic | undefined): string {
    if (topic === undefined) return "";
    const asked = this.#asked.get(topic.request);
    if (topic.isAnswer) this.#asked.delete(topic.request);
    return asked ?? sessionOfTopic(topic) ?? "";
  }
}

function eventOf(text: string): string {
  return `data: ${text}\n\n`;
}
