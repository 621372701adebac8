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

/** Where messages leave: the connection's own stream, or that of a session. */
interface Way {
  events: EventResponse | undefined;
  /** What nobody has come to read yet. */
  waiting: string[];
  size: number;
}

/** A message of the client's. */
export interface Posted {
  readonly text: string;
  /** The id as it is answered, where it is a request, and the session that it belongs to. */
  readonly id: string | undefined;
  readonly sessionId: string | undefined;
  /** Hears that it is read now, or that it never will be. */
  readonly settle: (isRead: boolean) => void;
}

/**
 * One client over many HTTP requests: what it says comes as POSTs, what it is told leaves on streams
 * of events that it opens, one for the connection and one for each session. What is said before a
 * stream is opened waits for it, within a limit.
 */
export class HttpConnection implements Channel<string> {
  readonly id = crypto.randomUUID();
  /** The principal who opened it. */
  readonly owner: string;
  readonly #limits: ChannelLimits;
  readonly #ways = new Map<string, Way>();
  /** The sessions of requests that have no answer yet, by the requests' ids. */
  readonly #asked = new Map<string, string>();
  #sink: Sink<string> | undefined;
  #first: { readonly id: string; readonly answer: (text: string) => void } | undefined;
  #unread = 0;
  /** What came while input is held. */
  readonly #held: Posted[] = [];
  #heldSize = 0;
  #isHolding = false;
  /** Both of the above, counted together. */
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

  /** Says hello for the client; `answer` gets what is answered. */
  initialize(text: string, id: string, answer: (text: string) => void): void {
    this.#first = { id, answer };
    background(this.#sink?.message(text), "Taking a message");
  }

  /** Takes a message once those before it are read. False where too much waits already. */
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

  /** Sends what leaves this way to whoever came to read it. False when somebody already does. */
  open(sessionId: string, response: ServerResponse): boolean {
    const way = this.#way(sessionId);
    if (way.events?.isOpen === true) return false;
    const events = new EventResponse(response, this.#limits);
    events.flush();
    way.events = events;
    for (const text of way.waiting.splice(0)) events.send(eventOf(text));
    this.#unread -= way.size;
    this.#count();
    way.size = 0;
    response.on("close", () => {
      this.#readAt = performance.now();
      // A client that makes up names must not grow the table.
      if (way.events === events && way.waiting.length === 0) this.#ways.delete(sessionId);
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

  /** Sends on the stream of a session; "" is the connection's own. */
  sendTo(sessionId: string, text: string): Promise<void> {
    const way = this.#way(sessionId);
    if (way.events?.isOpen === true) return way.events.send(eventOf(text));
    way.waiting.push(text);
    way.size += text.length;
    this.#unread += text.length;
    const { maxUnsent } = this.#limits;
    if (this.#unread > maxUnsent || !this.#count())
      this.abort(new SlowReaderError(this.#unread, maxUnsent));
    return ROOM;
  }

  /** Milliseconds for which nobody has read or said anything. */
  get idle(): number {
    const isRead = this.#ways.values().some((way) => way.events?.isOpen === true);
    return isRead ? 0 : performance.now() - this.#readAt;
  }

  keepAlive(): void {
    for (const { events } of this.#ways.values()) events?.keepAlive();
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
    this.#holding.clear();
    for (const { settle } of this.#held.splice(0)) settle(false);
    for (const { events } of this.#ways.values()) events?.end();
    this.#ways.clear();
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

  #way(sessionId: string): Way {
    const known = this.#ways.get(sessionId);
    if (known !== undefined) return known;
    const way = { events: undefined, waiting: [], size: 0 };
    this.#ways.set(sessionId, way);
    return way;
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
