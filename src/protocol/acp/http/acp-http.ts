import type { IncomingMessage, ServerResponse } from "node:http";
import { background } from "../../../base/background.ts";
import { ByteReservation } from "../../../base/limit/byte-budget.ts";
import { evictedFor } from "../../../base/limit/eviction.ts";
import type { Principal } from "../../../base/principal.ts";
import { STANDARD } from "../../../rpc/codes.ts";
import { holdId, isId, parseMessage } from "../../../rpc/message/message.ts";
import { type PeerOptions, resolvePeerLimits } from "../../../rpc/peer-options.ts";
import { RpcError, errorText } from "../../../rpc/rpc-error.ts";
import {
  type Channel,
  type ChannelLimits,
  ROOM,
  type Sink,
  SlowReaderError,
  type Topic,
  resolveChannelLimits,
} from "../../../wire/channel.ts";
import { EventResponse } from "../../../wire/channel/event-response.ts";
import { readHttpBody } from "../../../wire/channel/http-body.ts";
import { type AcpConnection, sessionOfTopic } from "../connection.ts";
import type { AcpDoor } from "../door.ts";
import { type JsonObject, objectOf } from "../methods.ts";
import { AcpConversation } from "../serve.ts";

export interface AcpHttpOptions {
  readonly door: AcpDoor;
  /** The door's, with its trace. */
  readonly peerOptions: PeerOptions<AcpConnection>;
  readonly channelLimits?: Partial<ChannelLimits>;
  readonly maxConnections?: number;
  readonly onChange?: (change: "opened" | "closed") => void;
}

const CONNECTION = "acp-connection-id";
const SESSION = "acp-session-id";
const KEEP_ALIVE = 15_000;
/** Milliseconds without a request or an open stream after which a connection is closed. */
const SILENCE = 5 * 60_000;
/** Connections at once; clients often leave without DELETE. */
const MOST_CONNECTIONS = 1_000;

/**
 * ACP over Streamable HTTP: `initialize` opens a connection, whose id is sent with every later request.
 * Clients POST messages, which are answered with 202, and read the agent's messages with GET.
 */
export class AcpHttp {
  readonly #options: AcpHttpOptions;
  readonly #limits: ChannelLimits;
  readonly #connections = new Map<string, [HttpConnection, AcpConversation]>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: AcpHttpOptions) {
    this.#options = options;
    this.#limits = resolveChannelLimits(options.channelLimits);
    this.#timer = setInterval(() => this.#look(), KEEP_ALIVE).unref();
  }

  get size(): number {
    return this.#connections.size;
  }

  /** Answers a request to the door's path. */
  handle(request: IncomingMessage, response: ServerResponse, principal: Principal): void {
    if (request.method === "POST") {
      return background(this.#post(request, response, principal), "Taking a message");
    }
    if (request.method === "GET") return this.#get(request, response, principal);
    if (request.method === "DELETE") return this.#delete(request, response, principal);
    response.setHeader("allow", "GET, POST, DELETE");
    return say(response, 405, "/acp does not support this method");
  }

  /** Closes the connections of a principal whose access was revoked. */
  endOf(principal: string): void {
    for (const [connection, conversation] of this.#connections.values()) {
      if (connection.owner === principal)
        background(conversation.close(0), "Closing a conversation");
    }
  }

  async close(grace: number): Promise<void> {
    clearInterval(this.#timer);
    const open = [...this.#connections.values()];
    await Promise.all(open.map(([, conversation]) => conversation.close(grace)));
  }

  async #post(
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
  ): Promise<void> {
    const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
    if (type !== "application/json") {
      return say(response, 415, "Send one JSON-RPC message as application/json");
    }
    const body = await readHttpBody(request, this.#limits.maxMessage);
    if (body === undefined) return undefined;
    if (typeof body === "string") return this.#receive(body, request, response, principal);
    if (body.kind === "busy") return sayBusy(response);
    if (body.kind === "oversize") return say(response, 413, `Over ${body.limit} bytes`);
    return say(response, 400, "The body is not valid UTF-8");
  }

  #receive(
    text: string,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
  ): void {
    const message = parseMessage(text, resolvePeerLimits());
    if (message instanceof RpcError) return refuse(response, message);
    if (typeof message !== "object" || message === null || Array.isArray(message)) {
      const why = Array.isArray(message)
        ? "batches are not supported"
        : "the message is not an object";
      return refuse(response, RpcError.of(STANDARD.invalidRequest, why));
    }
    const { id, method, params } = message as JsonObject;
    // In the form that the peer uses in its answer.
    const idText = isId(id) ? String(holdId(id, text)) : undefined;
    const isHello = method === "initialize" && idText !== undefined;
    if (isHello && request.headers[CONNECTION] === undefined) {
      return this.#hello(text, idText, response, principal);
    }
    if (isHello) return say(response, 400, "The connection is initialized already");
    const connection = this.#find(request, response, principal);
    if (connection === undefined) return undefined;
    const named = objectOf(params).sessionId;
    const header = request.headers[SESSION];
    if (typeof named === "string" && typeof header === "string" && named !== header) {
      return say(response, 400, "Acp-Session-Id is not the session of the message");
    }
    const session = typeof named === "string" ? named : header;
    const isTaken = connection.take({
      text,
      id: typeof method === "string" ? idText : undefined,
      sessionId: typeof session === "string" ? session : undefined,
      settle: (isRead) => {
        if (isRead) accept(response);
        else say(response, 404, "The connection has ended");
      },
    });
    if (isTaken) return undefined;
    response.setHeader("retry-after", "1");
    return say(response, 429, "Too much waits to be read: wait for what was sent before");
  }

  #hello(text: string, id: string, response: ServerResponse, principal: Principal): void {
    const { door, peerOptions, onChange } = this.#options;
    if (!this.#hasRoomFor(principal)) {
      response.setHeader("retry-after", "30");
      return say(response, 503, "Too many connections are open: DELETE one, or try again later");
    }
    const connection = new HttpConnection(this.#limits, principal.id);
    const conversation = new AcpConversation(door, connection, {
      peer: peerOptions,
      principal,
      send: (update, session) => connection.sendTo(session, update),
    });
    this.#connections.set(connection.id, [connection, conversation]);
    onChange?.("opened");
    background(
      conversation.ended.then(async () => {
        this.#connections.delete(connection.id);
        onChange?.("closed");
        await conversation.close(0);
      }),
      "Closing a conversation that has ended",
    );
    connection.initialize(text, id, (answer) => {
      const headers = { "content-type": "application/json", [CONNECTION]: connection.id };
      response.writeHead(200, headers).end(answer);
    });
  }

  /** Whether another connection may open. Closes an unused one where there are too many. */
  #hasRoomFor(principal: Principal): boolean {
    const { maxConnections = MOST_CONNECTIONS } = this.#options;
    if (this.#connections.size < maxConnections) return true;
    const kept = this.#connections.values().map(([connection]) => connection);
    const leaving = evictedFor(principal.id, kept);
    if (leaving === undefined) return false;
    const [, conversation] = this.#connections.get(leaving.id) ?? [];
    // Its end is handled asynchronously, so it is removed here.
    this.#connections.delete(leaving.id);
    if (conversation !== undefined) background(conversation.close(0), "Closing a conversation");
    return true;
  }

  #get(request: IncomingMessage, response: ServerResponse, principal: Principal): void {
    if (request.headers.accept?.toLowerCase().includes("text/event-stream") !== true) {
      if (request.headers[CONNECTION] !== undefined) {
        return say(response, 406, "Accept text/event-stream");
      }
      response.setHeader("upgrade", "websocket");
      return say(response, 426, "Connect to /acp with a WebSocket, or POST initialize to it");
    }
    const connection = this.#find(request, response, principal);
    if (connection === undefined) return undefined;
    const session = request.headers[SESSION];
    if (connection.open(typeof session === "string" ? session : "", response)) return undefined;
    return say(response, 409, "Somebody reads this stream already");
  }

  #delete(request: IncomingMessage, response: ServerResponse, principal: Principal): void {
    const connection = this.#find(request, response, principal);
    if (connection === undefined) return;
    const [, conversation] = this.#connections.get(connection.id) ?? [];
    accept(response);
    background(conversation?.close(0), "Closing a conversation");
  }

  #find(
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
  ): HttpConnection | undefined {
    const id = request.headers[CONNECTION];
    if (typeof id !== "string") {
      say(response, 400, "Acp-Connection-Id is missing: POST initialize first");
      return undefined;
    }
    const [connection] = this.#connections.get(id) ?? [];
    // Connections of other principals are treated as unknown.
    if (connection?.owner === principal.id) return connection;
    say(response, 404, "There is no such Acp-Connection-Id");
    return undefined;
  }

  #look(): void {
    for (const [connection, conversation] of this.#connections.values()) {
      if (connection.idle > SILENCE) background(conversation.close(0), "Closing a conversation");
      else connection.keepAlive();
    }
  }
}

function say(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ error }));
}

/** The byte budget for unfinished request bodies is used up. */
function sayBusy(response: ServerResponse): void {
  response.setHeader("retry-after", "1");
  response.setHeader("connection", "close");
  say(response, 503, "Too much is being sent to this server at once: try again in a moment");
}

function accept(response: ServerResponse): void {
  response.writeHead(202, { "content-length": 0 }).end();
}

function refuse(response: ServerResponse, error: RpcError): void {
  response.writeHead(400, { "content-type": "application/json" });
  response.end(`{"jsonrpc":"2.0","id":null,"error":${errorText(error)}}`);
}

/** An outgoing stream: that of the connection, or that of a session. */
interface EventStream {
  events: EventResponse | undefined;
  /** Messages that wait for a client to open the stream. */
  waiting: string[];
  size: number;
}

/** A message that a client has POSTed. */
interface PostedMessage {
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
  readonly #held: PostedMessage[] = [];
  #heldSize = 0;
  #isHolding = false;
  /** Counts unread and held messages against the byte budget. */
  readonly #holding = new ByteReservation();
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
  take(posted: PostedMessage): boolean {
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

  #read({ text, id, sessionId, settle }: PostedMessage): void {
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
