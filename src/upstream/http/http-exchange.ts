import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { background } from "../../base/background.ts";
import { FULL_READ, nextTurn } from "../../base/event-loop.ts";
import type { FrameFault, Room } from "../../wire/channel.ts";
import { readHold } from "../../wire/channel/read-hold.ts";
import { sseDecoder } from "../../wire/framing/sse.ts";
import { wholeBody } from "../../wire/framing/whole-body.ts";

/** A request that a server has refused because the token is missing or not sufficient. */
export interface HttpRefusal {
  readonly status: 401 | 403;
  /** The `WWW-Authenticate` header. */
  readonly challenge: string | undefined;
  /** The token that was sent, if any. */
  readonly token: string | undefined;
}

/** The reaction to a refusal: repeat the request with a token, or the reason why not ("it …"). */
export type RefusalOutcome = { readonly token: string } | { readonly why: string };

/** The bearer tokens for one server. */
export interface HttpAuthorization {
  /** The extension that a client takes part in by it, which the server is told. */
  readonly extension?: string | undefined;
  /** The token to send now; undefined for none. A promise only while it is read or renewed. */
  token(): string | undefined | Promise<string | undefined>;
  /** A request is repeated at most once. */
  refused(refusal: HttpRefusal): Promise<RefusalOutcome>;
}

/** A server whose `Authorization` header the configuration has: there is nothing to renew. */
export const CONFIGURED_AUTHORIZATION: HttpAuthorization = {
  token: () => undefined,
  refused: async ({ status }) => ({
    why: `answered ${status}: it does not accept the 'Authorization' header that is configured`,
  }),
};

/** Whether an answer asks for a token, or for one that permits more (RFC 6750, section 3.1). */
function isRefusal(status: number | undefined, challenge: string | undefined): boolean {
  return status === 401 || (status === 403 && /\binsufficient_scope\b/.test(challenge ?? ""));
}

/** RFC 9110, section 15.4: these keep the method and the body. */
const KEEPS_METHOD: ReadonlySet<number> = new Set([307, 308]);
/** These make a GET of a POST, which would lose the message. */
const MAKES_GET: ReadonlySet<number> = new Set([301, 302, 303]);

/**
 * The target of a redirection that is followed. A text that completes "it …" if it is not followed, undefined
 * if the response is no redirection.
 *
 * Only the same origin is followed: what we are configured to tell one server, headers with secrets
 * included, is not for another. The same host under https is another origin, too; whoever configured
 * http is told, since the message has been sent in the clear by then.
 */
export function redirection(
  from: URL,
  { statusCode = 0, headers: { location } }: Pick<IncomingMessage, "statusCode" | "headers">,
  method: string,
): URL | string | undefined {
  const isGet = MAKES_GET.has(statusCode);
  if (!isGet && !KEEPS_METHOD.has(statusCode)) return undefined;
  const to = location === undefined ? null : URL.parse(location, from);
  if (to === null) return `answered ${statusCode} without saying where to`;
  const shown = shownAddress(to);
  if (to.origin !== from.origin) {
    return `redirects to ${shown}, which is another server: configure that address if you trust it`;
  }
  if (isGet && method !== "GET") {
    return `answered ${statusCode} with ${shown}, which cannot be posted to: configure that address`;
  }
  // Credentials in an address are the configuration's to give.
  to.username = from.username;
  to.password = from.password;
  return to;
}

/** An address for people, without what may be a key: references to secrets may stand anywhere in a url. */
export function shownAddress({ origin, pathname }: URL): string {
  return origin + pathname.replace(/[^/]{16,}/g, "…");
}

export interface HttpExchangeOptions {
  readonly url: URL;
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Bytes of one message. */
  readonly maxMessage: number;
  /** Milliseconds that all of it may take; no limit when left out. */
  readonly timeout?: number;
  /** The tokens to send; without it, only what is in the headers. */
  readonly authorization?: HttpAuthorization | undefined;
}

/** Why an exchange was not completed. */
export interface HttpFailure {
  /** In words that complete "it …". */
  readonly why: string;
  /** Nothing of the request has reached the server. */
  readonly isUnsent: boolean;
  /** There was no token for it: the connection is as good as before. */
  readonly isTokenless?: boolean;
}

/** Receives the answer of one exchange. */
export interface HttpAnswer {
  /** The status and the headers are here. */
  head(response: IncomingMessage): void;
  /**
   * One message: the body, or an event's data. `id` is the event's, where it has one. No more is read
   * until a returned promise has settled.
   */
  message(text: string, id: string, event: string): void | Room;
  /** The stream's `retry`: milliseconds to wait before it is opened again. */
  retry?(milliseconds: number): void;
  fault(fault: FrameFault): void;
  /** The exchange is over; with a failure if it is incomplete. */
  end(failure?: HttpFailure): void;
}

/** Where a request is sent to, and with which token. */
interface Attempt {
  readonly url: URL;
  readonly redirects: number;
  readonly token?: string | undefined;
  /** It is sent for the second time, with another token. */
  readonly isRepeated: boolean;
}

/** Milliseconds in which a connection has to be made. */
const CONNECT = 10_000;
const MOST_REDIRECTS = 5;

/**
 * One HTTP request, and what it is answered with: a JSON body or a stream of events. A redirection to
 * the same server that keeps the method (307, 308) is followed.
 */
export class HttpExchange {
  readonly #options: HttpExchangeOptions;
  readonly #answer: HttpAnswer;
  readonly #timers = new Set<NodeJS.Timeout>();
  #request: ClientRequest | undefined;
  #isUnsent = true;
  #isOver = false;

  constructor(options: HttpExchangeOptions, answer: HttpAnswer) {
    this.#options = options;
    this.#answer = answer;
    const { timeout } = options;
    if (timeout !== undefined) this.#limit(timeout, `did not answer within ${timeout / 1000} s`);
    this.#authorize();
  }

  /** Gives it up. */
  destroy(): void {
    if (this.#request !== undefined) this.#request.destroy();
    // It waits for a token. In a microtask, so that the caller is done first.
    else queueMicrotask(() => this.#fail("was sent a request that was cancelled here"));
  }

  #authorize(): void {
    const { url, authorization } = this.#options;
    const first = { url, redirects: 0, isRepeated: false };
    const token = authorization?.token();
    if (typeof token !== "object") this.#send({ ...first, token });
    else {
      token.then(
        (known) => this.#send({ ...first, token: known }),
        (error: Error) => this.#fail(`was sent no request: ${error.message}`, true),
      );
    }
  }

  #send(attempt: Attempt): void {
    if (this.#isOver) return;
    const isSecure = attempt.url.protocol === "https:";
    const request = this.#begin(attempt, isSecure ? httpsRequest : httpRequest);
    if (request === undefined) return;
    this.#request = request;
    request.on("socket", (socket) => {
      if (request.reusedSocket || (!isSecure && !socket.connecting)) {
        this.#isUnsent = false;
        return;
      }
      const late = this.#limit(CONNECT, `could not be connected to within ${CONNECT / 1000} s`);
      socket.once(isSecure ? "secureConnect" : "connect", () => {
        this.#isUnsent = false;
        clearTimeout(late);
        this.#timers.delete(late);
      });
    });
    request.on("error", (error) => {
      if (this.#request === request) this.#fail(unreachable(this.#options.url, error));
    });
    request.end(this.#options.body);
  }

  /** Undefined for headers that HTTP cannot carry. */
  #begin(attempt: Attempt, send: typeof httpRequest): ClientRequest | undefined {
    const { method, headers: configured } = this.#options;
    const { url, token } = attempt;
    const headers =
      token === undefined ? configured : { ...configured, authorization: `Bearer ${token}` };
    try {
      return send(url, { method, headers }, (response) => this.#respond(attempt, response));
    } catch (error) {
      // Deferred until the caller has the exchange object.
      queueMicrotask(() => this.#fail(`cannot be sent the request: ${(error as Error).message}`));
      return undefined;
    }
  }

  #respond(attempt: Attempt, response: IncomingMessage): void {
    const { url, redirects } = attempt;
    if (this.#isRefused(attempt, response)) return;
    const next = redirection(url, response, this.#options.method);
    if (next instanceof URL && redirects < MOST_REDIRECTS) {
      this.#isUnsent = true;
      this.#send({ ...attempt, url: next, redirects: redirects + 1 });
      // The rest of the body is not read.
      response.on("error", () => {}).destroy();
      return;
    }
    this.#answer.head(response);
    if (next !== undefined) {
      const why = next instanceof URL ? `redirects more than ${MOST_REDIRECTS} times` : next;
      this.#fail(why);
      return;
    }
    if (response.headers["content-type"]?.startsWith("text/event-stream") === true) {
      this.#readEvents(response);
    } else this.#readBody(response);
    response.on("error", () => this.#fail("cut its answer off"));
    response.on("close", () => this.#fail("cut its answer off"));
  }

  /** Whether the server wants another token. Then the request is sent again once, or fails. */
  #isRefused(attempt: Attempt, response: IncomingMessage): boolean {
    const { authorization } = this.#options;
    const { statusCode: status, headers } = response;
    const challenge = headers["www-authenticate"];
    if (authorization === undefined || !isRefusal(status, challenge)) return false;
    const { token, isRepeated } = attempt;
    const act = (next: RefusalOutcome): void => {
      if (this.#isOver) return;
      if ("token" in next && !isRepeated) {
        this.#isUnsent = true;
        this.#send({ ...attempt, token: next.token, isRepeated: true });
        return;
      }
      this.#answer.head(response);
      this.#fail("why" in next ? next.why : `answered ${status} although the token is new`);
    };
    // The body is not read. Its end is not the end of the exchange.
    this.#request = undefined;
    response.on("error", () => {}).destroy();
    authorization
      .refused({ status: status === 403 ? 403 : 401, challenge, token })
      .then(act, (error: Error) => act({ why: `answered ${status}: ${error.message}` }));
    return true;
  }

  #readEvents(response: IncomingMessage): void {
    const reading = readHold(response);
    const decoder = sseDecoder(this.#options.maxMessage, {
      event: ({ data, id, event }) => {
        const hold = this.#answer.message(data, id, event);
        if (hold !== undefined) reading.until(hold);
      },
      fault: (lost) => this.#answer.fault(lost),
    });
    response.on("data", (chunk: Buffer) => {
      readRetry(chunk, this.#answer);
      decoder.push(chunk);
      // The chunk is smaller than the read, because HTTP framing was removed.
      if (chunk.length >= FULL_READ / 2) reading.until(nextTurn());
    });
    response.on("end", () => {
      decoder.end();
      this.#end();
    });
  }

  /** A body over the limit is not read to its end, which may never come. */
  #readBody(response: IncomingMessage): void {
    const { maxMessage } = this.#options;
    const tooLong = `answered with more than ${maxMessage} bytes`;
    if (Number(response.headers["content-length"]) > maxMessage) {
      this.#fail(tooLong);
      return;
    }
    const decoder = wholeBody.decoder(maxMessage, {
      text: (text) => {
        background(this.#answer.message(text, "", ""), "Taking a message");
      },
      fault: (lost) => this.#answer.fault(lost),
    });
    let size = 0;
    response.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxMessage) this.#fail(tooLong);
      else decoder.push(chunk);
    });
    response.on("end", () => {
      if (!this.#isOver) decoder.end();
      this.#end();
    });
  }

  #fail(why: string, isTokenless = false): void {
    this.#end({ why, isUnsent: this.#isUnsent, isTokenless });
  }

  #end(failure?: HttpFailure): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const timer of this.#timers) clearTimeout(timer);
    if (failure !== undefined) this.#request?.destroy();
    this.#answer.end(failure);
  }

  #limit(milliseconds: number, why: string): NodeJS.Timeout {
    const timer = setTimeout(() => this.#fail(why), milliseconds);
    this.#timers.add(timer);
    return timer;
  }
}

function unreachable({ origin }: URL, error: Error): string {
  return `could not be reached at ${origin}: ${error.message || (error as NodeJS.ErrnoException).code}`;
}

/** A JSON text has no line breaks, so what begins a line is the field. */
function readRetry(chunk: Buffer, answer: HttpAnswer): void {
  if (!chunk.includes("retry:")) return;
  const field = /(?:^|[\r\n])retry: ?(\d{1,6})(?=[\r\n])/.exec(chunk.toString("latin1"));
  if (field !== null) answer.retry?.(Number(field[1]));
}
