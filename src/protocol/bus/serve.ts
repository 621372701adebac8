import { aboutToSend } from "../../base/before-sending.ts";
import { type Stop, type StopListener, Stopper } from "../../base/stop.ts";
import type { BidiStream, Connection } from "../../wire/quic/connection.ts";
import { ConnectionError } from "../../wire/quic/connection-error.ts";
import { decodeRequest, encodeResponse, type ResponseInit } from "./codec.ts";
import { FAILURE, failure, failureOf } from "./failure.ts";
import type { PluginRequest } from "./plugin.gen.ts";
import { type FrameTaker, readFrames } from "./request-stream.ts";

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
  /** Answers with one piece of several; the handler's own answer is the last. */
  send(answer: NonNullable<Answer>): Promise<void>;
}

/** Who answers what. A kind that is left out is answered with `unknown_request`. */
export type BusHandlers = {
  readonly [K in Kind]?: (value: ValueOf<K>, call: BusCall) => Answer | Promise<Answer>;
};

export interface BusService {
  readonly handlers: BusHandlers;
  /** Where faults of our own go, under the id that their caller learns. */
  readonly report: (event: string, fields: Record<string, unknown>) => void;
}

const UNREADABLE = 2;

/** Answers what comes on one stream. Whatever it is, only this stream suffers. */
export async function serveExchange(
  stream: BidiStream,
  connection: Connection,
  service: BusService,
): Promise<void> {
  const exchange = new Exchange(stream, connection, service);
  try {
    await readFrames(stream, exchange);
  } catch (error) {
    // Whoever has asked may go as it likes: its answer learns of it. One that goes before has
    // asked nothing.
    if (!exchange.isAsked && !(error instanceof ConnectionError)) {
      await exchange.unread(error as Error);
    }
  }
  await exchange.answered;
}

/** One request and its answer. */
class Exchange implements FrameTaker, BusCall, StopListener {
  readonly connection: Connection;
  readonly #stream: BidiStream;
  readonly #service: BusService;
  readonly #stopper = new Stopper();
  #isAsked = false;
  #requestId = "";
  #kind: Kind | undefined;
  /** Resolves when the answer is on its way, or never will be. */
  answered: Promise<void> = Promise.resolve();

  constructor(stream: BidiStream, connection: Connection, service: BusService) {
    this.connection = connection;
    this.#stream = stream;
    this.#service = service;
  }

  /** The request is there. */
  get isAsked(): boolean {
    return this.#isAsked;
  }

  get stop(): Stop {
    return this.#stopper;
  }

  first(body: Buffer): void {
    this.#isAsked = true;
    let request: PluginRequest;
    try {
      request = decodeRequest(body);
    } catch (error) {
      this.answered = this.unread(error as Error);
      return;
    }
    this.#requestId = request.requestId;
    this.#kind = request.request.case;
    this.#stream.stop.add(this);
    this.answered = this.#answer(request.request);
  }

  further(body: Buffer): void {
    // Whoever asked says so on the same stream; nothing else is said there.
    if (decodesTo(body, "streamCancel")) {
      this.#stopper.stop(new Error("The caller cancelled the stream"));
    }
  }

  send(answer: NonNullable<Answer>): Promise<void> {
    return this.#stream.write(this.#frameOf(answer));
  }

  /** Whoever asked has gone. */
  stopped(reason: Error): void {
    this.#stopper.stop(reason);
  }

  /** What came is no request: says so, where the other side still listens. */
  async unread({ message }: Error): Promise<void> {
    this.#report("bus.unreadable", { error: message });
    try {
      const value = failure(FAILURE.unknownRequest, message);
      await this.#stream.end(this.#frameOf({ case: "toolCall", value }));
    } catch {
      // It is gone.
    }
    this.#stream.reset(UNREADABLE);
  }

  async #answer(request: Request): Promise<void> {
    let last: Buffer;
    try {
      last = this.#frameOf(await this.#handle(request));
    } catch (error) {
      last = this.#frameOf(this.#failed(error));
    }
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

  #failed(error: unknown): Answer {
    const value = failureOf(error, (correlationId, cause) => {
      this.#report("bus.internal-error", { correlationId, kind: this.#kind, error: cause });
    });
    return { case: "toolCall", value };
  }

  #frameOf(answer: Answer): Buffer {
    aboutToSend();
    const response = answer === undefined ? {} : { response: answer };
    return encodeResponse({ requestId: this.#requestId, ...response });
  }

  #report(event: string, fields: Record<string, unknown>): void {
    const peer = this.connection.peer?.name ?? "somebody without a certificate";
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
