import type { IncomingMessage } from "node:http";
import { atMost } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import { LostRequest } from "../../rpc/pending-requests.ts";
import { ROOM, type Room } from "../../wire/channel.ts";
import type { HttpAnswer, HttpFailure } from "./http-exchange.ts";
import { type ParameterHeader, parameterHeaders } from "../../protocol/mcp/param-headers.ts";
import { claimedRevision, type HttpRequestBody, modernHeaders } from "./http-headers.ts";
import {
  type HttpMessage,
  type HttpPending,
  messagesOf,
  pendingFor,
  refusal,
  seenMessages,
  withoutAnswer,
} from "./http-pending.ts";
import { type HttpChannelOptions, LONGEST_TAKING, PostingChannel } from "./posting-channel.ts";

const FIRST = 500;
const LONGEST = 30_000;
/** The shortest pause, even if the server asks for none: it would keep both sides busy. */
const LEAST = 100;

/**
 * Milliseconds before a stream is opened again: the server's wish (`asked`), growing with each attempt that
 * brought nothing. `attempt` counts from 1.
 */
export function waitBefore(attempt: number, asked = FIRST): number {
  const wait = Math.max(asked, LEAST);
  return Math.max(wait, Math.min(LONGEST, wait * 2 ** (attempt - 1)));
}

/**
 * The delays before a stream is opened again. A stream that was open for long counts as successful even if it
 * brought nothing, because proxies end silent streams.
 */
export class StreamRetryDelay {
  readonly #now: () => number;
  #failures = 0;
  #openedAt = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  opened(): void {
    this.#openedAt = this.#now();
  }

  /** Resets the delay: the stream has brought something. */
  came(): void {
    this.#failures = 0;
  }

  /** Returns the milliseconds before a stream that has ended is opened again. */
  ended(asked: number | undefined): number {
    if (this.#now() - this.#openedAt > LONGEST) this.#failures = 0;
    return waitBefore(++this.#failures, asked);
  }
}

/**
 * The status of an answer to GET. MCP 2025-11-25, basic/transports § Listening for Messages from the Server:
 * a stream of events, or 405. Some servers answer with a page for people, which is no stream either.
 */
export function streamStatus({
  statusCode: status = 0,
  headers,
}: Pick<IncomingMessage, "statusCode" | "headers">): number {
  const isStream = headers["content-type"]?.startsWith("text/event-stream") === true;
  return status >= 200 && status < 300 && !isStream ? 405 : status;
}

/**
 * The state that later requests depend on: the session, the agreed revision, and the arguments that tools
 * want as headers.
 */
class HttpSession {
  readonly #configured: Readonly<Record<string, string>>;
  readonly #parameters = new Map<string, readonly ParameterHeader[]>();
  #id: string | undefined;
  #revision: string | undefined;

  constructor(configured: Readonly<Record<string, string>>) {
    this.#configured = configured;
  }

  get isOpen(): boolean {
    return this.#id !== undefined;
  }

  /** MCP 2025-11-25, basic/transports § Session Management: the headers of requests in a session. */
  headers(): Record<string, string> {
    return {
      ...this.#configured,
      ...(this.#id === undefined ? {} : { "mcp-session-id": this.#id }),
      ...(this.#revision === undefined ? {} : { "mcp-protocol-version": this.#revision }),
    };
  }

  /** The headers that a message is posted with. */
  headersFor(message: HttpRequestBody): Record<string, string> {
    const claimed = claimedRevision(message);
    const ofEra =
      claimed === undefined
        ? this.headers()
        : {
            ...this.#configured,
            ...modernHeaders(message, claimed, (tool) => this.#parameters.get(tool)),
          };
    return {
      ...ofEra,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    };
  }

  /** The answer to `initialize` has come, or its beginning. */
  opened({ headers }: IncomingMessage): void {
    const id = headers["mcp-session-id"];
    if (typeof id === "string") this.#id = id;
  }

  /** A request has its answer. */
  answered(method: string, result: Readonly<Record<string, unknown>> | undefined): void {
    if (method === "initialize" && typeof result?.protocolVersion === "string") {
      this.#revision = result.protocolVersion;
    }
  }

  /** Remembers which arguments of a tool are sent as headers. Whether it can be called that way. */
  learn({ name, inputSchema }: Readonly<Record<string, unknown>>): boolean {
    const { headers, areSound } = parameterHeaders(inputSchema);
    if (typeof name === "string") this.#parameters.set(name, headers);
    return areSound;
  }
}

const CANCELLED = "notifications/cancelled";
const INITIALIZED = "notifications/initialized";
/** A long-lived request, whose answer nobody waits for. */
const LISTEN = "subscriptions/listen";
/** Milliseconds to wait for a server to say whether it has a stream of its own. */
const LONGEST_HOLD = 2_000;
/** Characters that are quoted of a body that is not a message. */
const LONGEST_QUOTE = 200;
const CUT_OFF = "cut its answer off";
/** How often a stream that was cut off is resumed before it is given up. */
const MOST_RESUMES = 5;

/**
 * The client's side of Streamable HTTP as one channel: each message is a POST, and what comes back on
 * any of the streams is delivered as it comes. Speaks for both eras; which one a message belongs to
 * is seen from the message.
 */
export class HttpChannel extends PostingChannel {
  readonly #pending = new Map<string | number, HttpPending>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** The server's open requests, by id: the progress tokens of our requests that they came with. */
  readonly #origins = new Map<string, unknown>();
  readonly #session: HttpSession;
  #lastEvent = "";
  /** Messages that wait for the server's own stream. */
  #held: string[] | undefined;
  readonly #waits = new StreamRetryDelay();
  /** Milliseconds that the server wants us to wait before its stream is opened again. */
  #wait: number | undefined;

  constructor(url: URL, options: HttpChannelOptions) {
    super(url, options);
    this.#session = new HttpSession(options.headers);
  }

  send(text: string): Room {
    if (this.isClosed) return ROOM;
    const message = JSON.parse(text) as HttpMessage;
    if (message.method === CANCELLED && this.#cancel(message)) return ROOM;
    if (message.method === undefined) {
      // In 2025-03-26, an answer may be a batch.
      for (const { id } of [message].flat()) this.#origins.delete(JSON.stringify(id));
    }
    if (this.#held !== undefined) {
      this.#held.push(text);
      return ROOM;
    }
    const pending = pendingFor(message);
    if (pending === undefined) {
      const room = this.queue(text);
      if (message.method === INITIALIZED) this.#hold();
      return room;
    }
    this.#pending.set(pending.id, pending);
    this.#post(text, message, pending);
    return ROOM;
  }

  /** Which call of ours a request of the server belongs to. Can be asked once. */
  originOf(idText: string): unknown {
    const token = this.#origins.get(idText);
    this.#origins.delete(idText);
    return token;
  }

  /** Whether a tool can be called this way. Only servers of 2026-07-28 speak of headers. */
  canCall(tool: Readonly<Record<string, unknown>>): boolean {
    return this.#session.learn(tool);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    const wasOpen = !this.isClosed;
    this.close();
    if (!this.#session.isOpen || !wasOpen) return;
    // MCP, basic/transports § Session Management: a client that is done sends DELETE.
    const ended = Promise.withResolvers<void>();
    const request = this.exchange(
      { method: "DELETE", headers: this.#session.headers() },
      { head() {}, message() {}, fault() {}, end: () => ended.resolve() },
    );
    await atMost(this.limits.closeGrace, ended.promise);
    request.destroy();
  }

  protected override post(text: string, done: () => void): void {
    this.#post(text, JSON.parse(text) as HttpMessage, undefined, done);
  }

  #post(
    text: string,
    message: HttpMessage,
    pending: HttpPending | undefined,
    done?: () => void,
  ): void {
    const headers = this.#session.headersFor(message);
    const limit = pending === undefined ? { timeout: LONGEST_TAKING } : {};
    let status = 0;
    const request = this.exchange(
      { ...limit, method: "POST", headers, body: text },
      {
        head: (response) => {
          status = response.statusCode ?? 0;
          if (message.method === "initialize") this.#session.opened(response);
        },
        retry: (wait) => {
          if (pending !== undefined) pending.wait = wait;
        },
        message: (body, eventId) => {
          if (status >= 200 && status < 300) return this.#deliver(body, eventId, pending);
          this.#refused(body, pending);
          return undefined;
        },
        fault: (fault) => this.sink?.fault(fault),
        end: (failure) => {
          this.#posted(status, message, pending, failure);
          done?.();
        },
      },
    );
    if (pending !== undefined) pending.http = request;
  }

  /** A POST is over. Its answer may have come, may come on another stream, or never. */
  #posted(
    status: number,
    message: HttpMessage,
    pending: HttpPending | undefined,
    failure: HttpFailure | undefined,
  ): void {
    if (this.isClosed) return;
    if (message.method === INITIALIZED) {
      if (status >= 200 && status < 300) this.#listen();
      else this.#release();
    }
    if (status === 404 && this.#session.isOpen) {
      const why = "has forgotten the session";
      if (pending !== undefined) this.#lose(pending, why, true);
      this.abort(new Error(why));
      return;
    }
    if (pending === undefined || !this.#pending.has(pending.id)) return;
    if (status >= 300 || failure?.isTokenless === true) {
      this.#pending.delete(pending.id);
      this.fail(pending.id, failure?.why ?? refusal(status, pending), status);
    } else if (pending.lastEvent !== "") this.#resume(pending);
    else if (failure === undefined) this.#lose(pending, withoutAnswer(pending), false);
    else {
      this.#lose(pending, failure.why, failure.isUnsent);
      // No other request is open: treat the server as down and reconnect.
      const isAlone = [...this.#pending.values()].every(({ method }) => method === LISTEN);
      if (failure.isUnsent && isAlone) this.abort(new Error(failure.why));
    }
  }

  #deliver(text: string, eventId: string, pending: HttpPending | undefined): void | Room {
    if (pending !== undefined && eventId !== "") pending.lastEvent = eventId;
    // An event without data only carries the id to resume from.
    if (text === "" || this.isClosed) return undefined;
    const messages = seenMessages(text, pending);
    for (const message of messages) this.#note(message, pending);
    if (messages.length > 0) return this.sink?.message(text);
    if (pending !== undefined) pending.garbage ??= text.slice(0, LONGEST_QUOTE);
    return undefined;
  }

  /** Records the state that later messages depend on. */
  #note(message: HttpMessage, pending: HttpPending | undefined): void {
    const { id, method, result } = message;
    if (method !== undefined) {
      if (pending !== undefined && id !== undefined)
        this.#origins.set(JSON.stringify(id), pending.token);
      return;
    }
    const answered = this.#pending.get(id as string | number);
    if (answered === undefined) return;
    this.#pending.delete(answered.id);
    this.#session.answered(answered.method, result);
  }

  /** The body of an answer that is no success: an error of the protocol, or of something between. */
  #refused(body: string, pending: HttpPending | undefined): void {
    if (pending === undefined || !this.#pending.has(pending.id)) return;
    const [message] = messagesOf(body);
    if (message?.error !== undefined && message.id === pending.id) {
      this.#pending.delete(pending.id);
      background(this.sink?.message(body), "Taking a message");
    } else pending.garbage ??= body.slice(0, LONGEST_QUOTE);
  }

  /** Only this request is without an answer; the others go on. */
  #lose(pending: HttpPending, why: string, isUnsent: boolean): void {
    if (!this.#pending.delete(pending.id)) return;
    this.sink?.lost?.(pending.id, new LostRequest(why, { isUnsent }));
  }

  /** Resumes the stream of a request where it was cut off. */
  #resume(pending: HttpPending): void {
    if (++pending.attempts > MOST_RESUMES) {
      this.#lose(pending, CUT_OFF, false);
      return;
    }
    this.#later(waitBefore(pending.attempts, pending.wait), () => {
      this.#get(pending.lastEvent, {
        retry: (wait) => {
          pending.wait = wait;
        },
        message: (text, eventId) => {
          pending.attempts = 0;
          return this.#deliver(text, eventId, pending);
        },
        end: (status) => {
          if (!this.#pending.has(pending.id)) return;
          if (status >= 300) this.#lose(pending, CUT_OFF, false);
          else this.#resume(pending);
        },
      });
    });
  }

  /**
   * Holds messages until the server's own stream is open: otherwise its questions for the first calls would
   * be lost.
   */
  #hold(): void {
    this.#held = [];
    this.#later(LONGEST_HOLD, () => this.#release());
  }

  #release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const text of held) this.send(text);
  }

  /** Opens the stream for messages outside any request (up to 2025-11-25), which not every server has. */
  #listen(): void {
    this.#waits.opened();
    this.#get(this.#lastEvent, {
      head: () => this.#release(),
      retry: (wait) => {
        this.#wait = wait;
      },
      message: (text, eventId) => {
        this.#waits.came();
        if (eventId !== "") this.#lastEvent = eventId;
        return this.#deliver(text, "", undefined);
      },
      end: (status) => {
        this.#release();
        if (status >= 300 && status < 500) return;
        this.#later(this.#waits.ended(this.#wait), () => this.#listen());
      },
    });
  }

  #get(
    lastEvent: string,
    on: Pick<HttpAnswer, "message" | "retry"> & { head?(): void; end(status: number): void },
  ): void {
    let status = 0;
    const headers = {
      ...this.#session.headers(),
      accept: "text/event-stream",
      ...(lastEvent === "" ? {} : { "last-event-id": lastEvent }),
    };
    this.exchange(
      { method: "GET", headers },
      {
        head: (response) => {
          status = streamStatus(response);
          on.head?.();
        },
        message: (text, id) => (status === 200 ? on.message(text, id, "") : undefined),
        retry: (wait) => on.retry?.(wait),
        fault: (fault) => this.sink?.fault(fault),
        end: () => {
          if (!this.isClosed) on.end(status);
        },
      },
    );
  }

  /**
   * MCP 2026-07-28, transports/streamable-http § Cancellation: closing the response stream cancels, and
   * no notification is sent. True when nothing is left to send.
   */
  #cancel({ params }: HttpMessage): boolean {
    const pending = this.#pending.get(params?.requestId as string | number);
    if (pending === undefined) return false;
    this.#pending.delete(pending.id);
    // Up to 2025-11-25 closing does not cancel, but the rest of the stream is of no use.
    pending.http?.destroy();
    return pending.cancelsByClosing;
  }

  #later(milliseconds: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (!this.isClosed) work();
    }, milliseconds).unref();
    this.#timers.add(timer);
  }

  protected override close(): void {
    super.close();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#pending.clear();
    this.#origins.clear();
  }
}
