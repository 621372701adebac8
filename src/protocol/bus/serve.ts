import { type Stop, type StopListener, Stopper } from "../../base/stop.ts";
import type { BidiStream, Connection } from "../../wire/quic/connection.ts";
import { ConnectionError } from "../../wire/quic/connection-error.ts";
import { decodeRequest, encodeResponse, type ResponseInit } from "./codec.ts";
import { FAILURE, failure, failureOf } from "./failure.ts";
import { type Begun, type Ledger, OverLimit } from "./ledger.ts";
import type { PluginRequest } from "./plugin.gen.ts";
import { type FrameTaker, readFrames } from "./frame-stream.ts";

type Request = PluginRequest["request"];
type Kind = NonNullable<Request["case"]>;
type ValueOf<K extends Kind> = Extract<Request, { case: K }>["value"];

/** What a request is answered with. Some are answered with nothing but that they came. */
export type Answer = NonNullable<ResponseInit["response"]> | undefined;

/** One request while it is being answered. */
export interface BusCall {
  readonly connection: Connection;
  /** Comes when whoever asked has gone or no longer wants it. */
  readonly stop: Stop;
  /** What the request takes, roughly. */
  readonly bytes: number;
  /** Answers with one piece of several; the handler's own answer is the last. */
  send(answer: NonNullable<Answer>): Promise<void>;
}

/** A call of a tool that is passed on. Either `said` or `becomes` is called, once. */
export interface PassedExchange extends BusCall {
  /** Answers with one text. */
  said(text: string): void;
  /** Answers as a handler does. */
  fallBackTo(answer: Promise<Answer>): void;
}

/** Who answers what. A kind that is left out is answered with `unknown_request`. */
export type BusHandlers = {
  readonly [K in Kind]?: (value: ValueOf<K>, call: BusCall) => Answer | Promise<Answer>;
};

export interface BusService {
  readonly handlers: BusHandlers;
  /** Passes a call of a tool on, before a handler has it. False where it does not. */
  readonly pass?: (value: ValueOf<"toolCall">, call: PassedExchange) => boolean;
  /** Where faults of our own go, under the id that their caller learns. */
  readonly report: (event: string, fields: Record<string, unknown>) => void;
  /** Keeps what one guest asks from costing others. */
  readonly guard?: Guard;
}

export interface Guard {
  /** What whoever is behind a connection has under way. */
  ledgerOf(connection: Connection): Ledger;
  /** Begins work for whoever has that ledger, now or soon. */
  begin(ledger: Ledger, work: () => void): void;
}

const UNREADABLE = 2;
/** What a part of a message takes once it is read, besides its bytes. */
const PART = 64;
/** Frames that may follow a request on its stream. Only one of them, `streamCancel`, has a meaning. */
const MOST_FURTHER = 16;

/** Answers what comes on one stream. Whatever it is, only this stream suffers. */
export async function serveExchange(
  stream: BidiStream,
  connection: Connection,
  service: BusService,
): Promise<void> {
  const exchange = new Exchange(stream, connection, service);
  exchange.begin();
  try {
    const reading = readFrames(stream, exchange);
    if (reading !== undefined) await reading;
  } catch (error) {
    // Once the request has come, `stop` tells its handler that the stream has failed. A connection
    // that ends before has asked nothing, so only what cannot be read is answered here.
    if (!exchange.isAsked && !(error instanceof ConnectionError)) {
      await exchange.unread(error as Error);
    }
  } finally {
    await exchange.answered;
    exchange.end();
  }
}

/** One request and its answer. */
class Exchange implements FrameTaker, PassedExchange, StopListener, Begun {
  readonly connection: Connection;
  before: Begun | undefined;
  after: Begun | undefined;
  readonly #stream: BidiStream;
  readonly #service: BusService;
  readonly #stopper = new Stopper();
  #ledger: Ledger | undefined;
  #bytes = 0;
  #further = 0;
  #isAsked = false;
  #requestId = "";
  #kind: Kind | undefined;
  #isRunning = false;
  #answered: PromiseWithResolvers<void> | undefined;

  constructor(stream: BidiStream, connection: Connection, service: BusService) {
    this.connection = connection;
    this.#stream = stream;
    this.#service = service;
  }

  /** The request is there. */
  get isAsked(): boolean {
    return this.#isAsked;
  }

  /** Resolves when the answer is on its way, or never will be. Undefined if nothing was asked. */
  get answered(): Promise<void> | undefined {
    return this.#answered?.promise;
  }

  get stop(): Stop {
    return this.#stopper;
  }

  get bytes(): number {
    return this.#bytes;
  }

  begin(): void {
    this.#ledger = this.#service.guard?.ledgerOf(this.connection);
    this.#ledger?.begin(this);
  }

  end(): void {
    this.#ledger?.give(this.#bytes);
    this.#ledger?.end(this);
  }

  giveUp(): void {
    this.#stream.reset(UNREADABLE);
  }

  received(bytes: number): void {
    this.#ledger?.take(bytes);
    this.#bytes += bytes;
  }

  first(body: Buffer): void {
    this.#isAsked = true;
    this.#answered = Promise.withResolvers();
    const { guard } = this.#service;
    if (guard === undefined || this.#ledger === undefined) this.#take(body);
    else guard.begin(this.#ledger, () => this.#take(body));
  }

  further(body: Buffer): void {
    if (++this.#further > MOST_FURTHER) throw new Error("Too many frames follow the request");
    // A caller cancels on the stream of its request. Other kinds are ignored there.
    if (decodesTo(body, "streamCancel")) {
      this.#stopper.stop(new Error("The caller cancelled the stream"));
    }
  }

  async send(answer: NonNullable<Answer>): Promise<void> {
    const frame = this.#frameOf(answer);
    this.#ledger?.take(frame.length);
    try {
      await this.#stream.write(frame);
    } finally {
      this.#ledger?.give(frame.length);
    }
  }

  /** Whoever asked has gone. */
  stopped(reason: Error): void {
    this.#stopper.stop(reason);
  }

  /** Answers what is not a request with a failure, if the other side still listens. */
  async unread(error: Error): Promise<void> {
    const { message } = error;
    this.#report("bus.unreadable", { error: message });
    try {
      const code = error instanceof OverLimit ? error.code : FAILURE.unknownRequest;
      const value = failure(code, message);
      await this.#stream.end(this.#frameOf({ case: "toolCall", value }));
    } catch {
      // It is gone.
    }
    this.#stream.reset(UNREADABLE);
  }

  #take(body: Buffer): void {
    try {
      this.#ledger?.run(this);
      this.#isRunning = true;
    } catch (error) {
      this.#endAfter(this.unread(error as Error));
      return;
    }
    const request = this.#read(body);
    if (request instanceof Error) {
      this.#endAfter(this.unread(request));
      return;
    }
    try {
      if (this.#isPassed(request)) return;
    } catch (error) {
      this.#endAfter(this.#send(this.#failed(error)));
      return;
    }
    this.#endAfter(this.#answer(() => this.#handle(request)));
  }

  /** Ends the request when its answer is sent. */
  #endAfter(answering: Promise<void>): void {
    answering.then(
      () => {
        this.#leave();
        this.#answered?.resolve();
      },
      (error: unknown) => {
        this.#leave();
        this.#answered?.reject(error);
      },
    );
  }

  #leave(): void {
    if (this.#isRunning) this.#ledger?.done();
  }

  #read(body: Buffer): Request | Error {
    let request: PluginRequest;
    try {
      request = decodeRequest(body, (parts) => this.received(parts * PART));
    } catch (error) {
      return error as Error;
    }
    this.#requestId = request.requestId;
    this.#kind = request.request.case;
    this.#stream.stop.add(this);
    return request.request;
  }

  #isPassed(request: Request): boolean {
    const { pass } = this.#service;
    if (pass === undefined || request.case !== "toolCall") return false;
    return pass(request.value, this);
  }

  said(text: string): void {
    const value = { success: true, result: { text } };
    this.#endAfter(this.#sendLast({ case: "toolCall", value }));
  }

  fallBackTo(answer: Promise<Answer>): void {
    this.#endAfter(this.#answer(() => answer));
  }

  async #answer(work: () => Answer | Promise<Answer>): Promise<void> {
    let answer: Answer;
    try {
      const working = work();
      answer = working instanceof Promise ? await working : working;
    } catch (error) {
      return this.#send(this.#failed(error));
    }
    return this.#sendLast(answer);
  }

  #sendLast(answer: Answer): Promise<void> {
    let last: Buffer;
    try {
      last = this.#frameOf(answer);
      this.received(last.length);
    } catch (error) {
      last = this.#failed(error);
    }
    return this.#send(last);
  }

  async #send(last: Buffer): Promise<void> {
    try {
      await this.#stream.end(last);
    } catch (error) {
      this.#report("bus.unanswered", { kind: this.#kind, error: (error as Error).message });
      this.#stream.reset();
    }
  }

  #handle(request: Request): Answer | Promise<Answer> {
    const { handlers } = this.#service;
    const handler = request.case === undefined ? undefined : handlers[request.case];
    if (handler === undefined) {
      const value = failure(FAILURE.unknownRequest, "unrecognized request type");
      return { case: "toolCall", value };
    }
    // The table holds for each kind the handler of its value.
    return (handler as (value: unknown, call: BusCall) => Answer | Promise<Answer>)(
      request.value,
      this,
    );
  }

  #failed(error: unknown): Buffer {
    const value = failureOf(error, (correlationId, cause) => {
      this.#report("bus.internal-error", { correlationId, kind: this.#kind, error: cause });
    });
    try {
      return this.#frameOf({ case: "toolCall", value });
    } catch {
      // Words that are too long, or no text. Something has to be said in any case.
      const code = FAILURE.handler;
      return this.#frameOf({
        case: "toolCall",
        value: failure(code, "The failure cannot be said"),
      });
    }
  }

  #frameOf(answer: Answer): Buffer {
    const response = answer === undefined ? {} : { response: answer };
    return encodeResponse({ requestId: this.#requestId, ...response });
  }

  #report(event: string, fields: Record<string, unknown>): void {
    const peer = this.connection.peer?.name ?? "a client without a certificate";
    this.#service.report(event, { peer, ...fields });
  }
}

function decodesTo(body: Buffer, kind: Kind): boolean {
  try {
    return decodeRequest(body).request.case === kind;
  } catch {
    return false;
  }
}
