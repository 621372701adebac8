import type { ClientRequest } from "node:http";

import {
  type Channel,
  type ChannelLimits,
  resolveChannelLimits,
  ROOM,
  type Sink,
} from "../wire/channel.ts";
import { exchange, type HttpAnswer } from "./http-exchange.ts";
import { parameterHeaders } from "./http-headers.ts";
import { type HttpMessage, type HttpPending, messagesOf, pendingFor } from "./http-pending.ts";
import { HttpSession } from "./http-session.ts";

export interface HttpChannelOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly limits?: Partial<ChannelLimits>;
}

const CANCELLED = "notifications/cancelled";
const INITIALIZED = "notifications/initialized";
/** A server that does not say whether it has a stream of its own is not waited for longer. */
const LONGEST_HOLD = 2_000;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 30_000;
/** A stream that was cut off is taken up again so often, and then given up. */
const MOST_RESUMES = 5;

/**
 * The client's side of Streamable HTTP as one channel: each message is a POST, and what comes back on
 * any of the streams is delivered as it comes. Speaks for both eras; which one a message belongs to
 * is seen from the message.
 */
export class HttpChannel implements Channel<string> {
  readonly #url: URL;
  readonly #limits: ChannelLimits;
  readonly #pending = new Map<string | number, HttpPending>();
  readonly #open = new Set<ClientRequest>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Requests of the server, by their id: the progress token of ours that they came with. */
  readonly #origins = new Map<string, unknown>();
  readonly #session: HttpSession;
  #sink: Sink<string> | undefined;
  #lastEvent = "";
  /** What waits for the server's own stream. */
  #held: string[] | undefined;
  #waits = 0;
  /** Milliseconds that the server wants us to wait before its stream is opened again. */
  #wait: number | undefined;
  #isClosed = false;
  readonly #ended = Promise.withResolvers<string>();

  constructor(url: URL, options: HttpChannelOptions) {
    this.#url = url;
    this.#session = new HttpSession(options.headers);
    this.#limits = resolveChannelLimits(options.limits);
  }

  receive(sink: Sink<string>): void {
    this.#sink = sink;
  }

  send(text: string): Promise<void> {
    if (this.#isClosed) return ROOM;
    const message = JSON.parse(text) as HttpMessage;
    if (message.method === CANCELLED && this.#cancel(message)) return ROOM;
    if (this.#held !== undefined) this.#held.push(text);
    else this.#post(text, message);
    if (message.method === INITIALIZED) this.#hold();
    return ROOM;
  }

  /** For whoever answers a request of the server: which call of ours it belongs to. */
  originOf(idText: string): unknown {
    const token = this.#origins.get(idText);
    this.#origins.delete(idText);
    return token;
  }

  /** Whether a tool can be called this way. Only servers of 2026-07-28 speak of headers. */
  canCall(tool: { readonly inputSchema?: unknown }): boolean {
    return parameterHeaders(tool.inputSchema) !== undefined;
  }

  /** Why it is over, in words that complete "it …". */
  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  abort(reason: Error): void {
    this.#ended.resolve(reason.message);
    const sink = this.#sink;
    this.#close();
    sink?.end(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const wasOpen = !this.#isClosed;
    this.#close();
    if (!this.#session.isOpen || !wasOpen) return;
    // A session that nobody ends is kept by the server for nobody knows how long.
    const ended = Promise.withResolvers<void>();
    const timer = setTimeout(ended.resolve, this.#limits.closeGrace);
    const request = exchange(
      { ...this.#common(), method: "DELETE", headers: this.#session.headers() },
      { head() {}, message() {}, fault() {}, end: () => ended.resolve() },
    );
    await ended.promise;
    clearTimeout(timer);
    request.destroy();
  }

  #post(text: string, message: HttpMessage): void {
    const pending = pendingFor(message);
    if (pending !== undefined) this.#pending.set(pending.id, pending);
    const headers = this.#session.headersFor(message);
    let status = 0;
    const request = exchange(
      { ...this.#common(), method: "POST", headers, body: text },
      {
        head: (response) => {
          status = response.statusCode ?? 0;
          if (message.method === "initialize") this.#session.opened(response);
        },
        retry: (wait) => {
          if (pending !== undefined) pending.wait = wait;
        },
        message: (body, eventId) => {
          if (status >= 200 && status < 300) this.#deliver(body, eventId, pending);
          else this.#refused(body, pending);
        },
        fault: (fault) => this.#sink?.fault(fault),
        end: (error) => {
          this.#open.delete(request);
          this.#posted(status, message, pending, error);
        },
      },
    );
    if (pending !== undefined) pending.http = request;
    this.#open.add(request);
  }

  /** A POST is over. Its answer may have come, may come on another stream, or never. */
  #posted(
    status: number,
    message: HttpMessage,
    pending: HttpPending | undefined,
    error: Error | undefined,
  ): void {
    if (this.#isClosed) return;
    if (message.method === INITIALIZED) {
      if (status < 300) this.#listen();
      else this.#release();
    }
    if (status === 404 && this.#session.isOpen) {
      this.abort(new Error("has forgotten the session"));
      return;
    }
    if (status === 0 && error !== undefined && pending?.isCancelled !== true) {
      this.abort(new Error(`could not be reached at ${this.#url.origin}: ${error.message}`));
      return;
    }
    if (pending === undefined || !this.#pending.has(pending.id)) return;
    if (status >= 300) this.#fail(pending, `${this.#url.origin} answered ${status}`, status);
    else if (pending.lastEvent === "") this.#fail(pending, "The answer was cut off");
    else this.#resume(pending);
  }

  #deliver(text: string, eventId: string, pending: HttpPending | undefined): void {
    if (pending !== undefined && eventId !== "") pending.lastEvent = eventId;
    // An event without data only says from where the stream can be taken up again.
    if (text === "" || this.#isClosed) return;
    for (const message of messagesOf(text)) this.#note(message, pending);
    void this.#sink?.message(text);
  }

  /** Remembers what later messages depend on. */
  #note(message: HttpMessage, pending: HttpPending | undefined): void {
    const { id, method, result } = message;
    if (method !== undefined) {
      if (pending !== undefined && id !== undefined) {
        this.#origins.set(JSON.stringify(id), pending.token);
      }
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
      void this.#sink?.message(body);
    }
  }

  #fail(pending: HttpPending, why: string, status?: number): void {
    if (!this.#pending.delete(pending.id)) return;
    const error = {
      code: -32000,
      message: why,
      ...(status === undefined ? {} : { data: { status } }),
    };
    void this.#sink?.message(JSON.stringify({ jsonrpc: "2.0", id: pending.id, error }));
  }

  /** Takes up the stream of a request where it was cut off. */
  #resume(pending: HttpPending): void {
    if (++pending.attempts > MOST_RESUMES) {
      this.#fail(pending, "The answer was cut off");
      return;
    }
    this.#later(pending.wait ?? FIRST_WAIT * 2 ** (pending.attempts - 1), () => {
      this.#get(pending.lastEvent, {
        retry: (wait) => {
          pending.wait = wait;
        },
        message: (text, eventId) => {
          pending.attempts = 0;
          this.#deliver(text, eventId, pending);
        },
        end: (status) => {
          if (!this.#pending.has(pending.id)) return;
          if (status >= 400) this.#fail(pending, "The answer was cut off", status);
          else this.#resume(pending);
        },
      });
    });
  }

  /**
   * Until the server's own stream is open, what it has to ask for the first calls would be lost: so
   * those wait for it.
   */
  #hold(): void {
    this.#held = [];
    this.#later(LONGEST_HOLD, () => this.#release());
  }

  #release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const text of held) void this.send(text);
  }

  /** What the server says outside any request (up to 2025-11-25). Not every server does. */
  #listen(): void {
    this.#get(this.#lastEvent, {
      head: () => this.#release(),
      retry: (wait) => {
        this.#wait = wait;
      },
      message: (text, eventId) => {
        this.#waits = 0;
        if (eventId !== "") this.#lastEvent = eventId;
        this.#deliver(text, "", undefined);
      },
      end: (status) => {
        this.#release();
        if (status >= 400 && status < 500) return;
        const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.#waits++);
        this.#later(this.#wait ?? wait, () => this.#listen());
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
    const request = exchange(
      { ...this.#common(), method: "GET", headers },
      {
        head: (response) => {
          status = response.statusCode ?? 0;
          on.head?.();
        },
        message: (text, id) => {
          if (status === 200) on.message(text, id, "");
        },
        retry: (wait) => on.retry?.(wait),
        fault: (fault) => this.#sink?.fault(fault),
        end: () => {
          this.#open.delete(request);
          if (!this.#isClosed) on.end(status);
        },
      },
    );
    this.#open.add(request);
  }

  /** From 2026-07-28 on, ending the exchange is the way to cancel. True when that was all. */
  #cancel({ params }: HttpMessage): boolean {
    const pending = this.#pending.get(params?.requestId as string | number);
    if (pending === undefined) return false;
    this.#pending.delete(pending.id);
    if (!pending.isModern) return false;
    pending.isCancelled = true;
    pending.http?.destroy();
    return true;
  }

  #common(): { url: URL; maxMessage: number } {
    return { url: this.#url, maxMessage: this.#limits.maxMessage };
  }

  #later(milliseconds: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (!this.#isClosed) work();
    }, milliseconds).unref();
    this.#timers.add(timer);
  }

  #close(): void {
    this.#isClosed = true;
    this.#ended.resolve("closed the connection");
    this.#sink = undefined;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const request of this.#open) request.destroy();
    this.#pending.clear();
    this.#origins.clear();
  }
}
