import { onAbort, untilAborted } from "../../base/abort.ts";
import { TrunklineError } from "../../base/errors.ts";
import { Deadline } from "../../base/limit/deadline.ts";
import { MAX_FRAME, PREFIX } from "../../wire/framing/length-prefixed.ts";
import { ConnectionError } from "../../wire/quic/connection-error.ts";
import { answersOn, noAnswer } from "./frame-stream.ts";
import {
  bodyOf,
  decodeResponse,
  encodeRequest,
  REFUSE_LONG_FRAME,
  type RequestInit,
} from "./codec.ts";
import type { PluginResponse } from "./plugin.gen.ts";
import { Redial, type RedialOptions } from "./redial.ts";

/** A request, by the name of its kind. */
export type Asked = NonNullable<RequestInit["request"]>;

export interface BusClientOptions extends RedialOptions {
  /** Milliseconds to wait for an answer, or a piece of one, unless the request has its own timeout. */
  readonly patience?: number;
}

export interface AskOptions {
  /** Cancels the request. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds to wait for the answer; default the client's patience. */
  readonly timeout?: number;
  /** Bytes of the answer; default the size of the largest frame. */
  readonly most?: number;
  /** Repeats the request once if the connection is lost: only for requests that are idempotent. */
  readonly again?: boolean;
}

export interface AskForManyOptions {
  readonly signal?: AbortSignal | undefined;
  /** Tells the other side to stop sending. Without it, the stream is reset. */
  readonly cancel?: () => void;
}

/** Milliseconds that a repeated request waits for a lost connection to come back. */
const COMING_BACK = 5_000;
/** The largest frame and its length. */
const MOST_BYTES = MAX_FRAME + PREFIX;
const CANCELLED = 1;

/** The client side of the bus: a stream for each request, on connections that are dialled again. */
export class BusClient implements AsyncDisposable {
  readonly #name: string;
  readonly #patience: number | undefined;
  readonly #redial: Redial;
  #lastId = 0;

  constructor(options: BusClientOptions) {
    this.#name = options.name;
    this.#patience = options.patience;
    this.#redial = new Redial(options);
  }

  get isUp(): boolean {
    return this.#redial.isUp;
  }

  /** Connects now, so that a failure is known before the first request. */
  async connect(): Promise<void> {
    await this.#redial.get();
  }

  /** Sends a request and waits for its answer. Rejects with `LostError` if the connection is lost. */
  async ask(request: Asked, options: AskOptions = {}): Promise<PluginResponse> {
    try {
      return await this.#once(request, options);
    } catch (error) {
      if (!(error instanceof LostError) || options.again !== true) throw error;
      return await this.#again(error, request, options);
    }
  }

  /** Sends a request whose answer comes in pieces, until the reader has enough or it is cancelled. */
  async *askForMany(
    request: Asked,
    options: AskForManyOptions = {},
  ): AsyncGenerator<PluginResponse, void, void> {
    const { signal, cancel } = options;
    const frame = encodeRequest({ requestId: this.#nextId(), request });
    const stream = await this.#redial.open();
    const sent = stream.end(frame);
    // A failure to send also ends the answers.
    sent.catch(() => {});
    yield* answersOn(stream, {
      signal,
      cancel,
      patience: this.#patience,
      whom: this.#asked(request),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#redial[Symbol.asyncDispose]();
  }

  /** Repeats a request when the connection is back. */
  async #again(lost: LostError, request: Asked, options: AskOptions): Promise<PluginResponse> {
    await this.#back(lost, options.signal);
    return await this.#once(request, options);
  }

  async #once(request: Asked, options: AskOptions): Promise<PluginResponse> {
    const requestId = this.#nextId();
    const frame = encodeRequest({ requestId, request });
    const opening = this.#redial.open();
    const stream = opening instanceof Promise ? await opening : opening;
    const { signal, timeout = this.#patience, most = MOST_BYTES } = options;
    let reason: Error | undefined;
    const giveUp = (why: Error): void => {
      reason ??= why;
      stream.reset(CANCELLED);
    };
    using ends = new DisposableStack();
    if (timeout !== undefined) {
      const late = (): void => giveUp(noAnswer(timeout, this.#asked(request)));
      const deadline = new Deadline(timeout, late);
      ends.defer(() => deadline.stop());
    }
    ends.defer(onAbort(signal, giveUp));
    let bytes: Uint8Array;
    try {
      // Orchestra's Go server never reads an end that comes apart from the request, and leaks the stream.
      await stream.end(frame);
      bytes = await stream.readAll(most, REFUSE_LONG_FRAME);
    } catch (error) {
      throw reason ?? this.#lost(error);
    }
    return this.#read(bytes, requestId);
  }

  #read(bytes: Uint8Array, requestId: string): PluginResponse {
    let response: PluginResponse;
    try {
      response = decodeResponse(bodyOf(bytes));
    } catch (error) {
      throw this.#unreadable(error as TrunklineError);
    }
    // Not all programs repeat the id. One that gives another id has mixed up its answers.
    if (response.requestId === "" || response.requestId === requestId) return response;
    const why = `${this.#name} gave the answer to '${response.requestId}', not to '${requestId}'`;
    throw new TrunklineError("unavailable", why);
  }

  /** Waits for the connection to come back. Rejects with the first loss if it does not. */
  async #back(lost: LostError, signal: AbortSignal | undefined): Promise<void> {
    const back = this.#redial.back(COMING_BACK).catch(() => Promise.reject(lost));
    await untilAborted(back, signal);
  }

  #asked(request: Asked): string {
    // Elsewhere the name begins a sentence.
    const name = this.#name.charAt(0).toLowerCase() + this.#name.slice(1);
    return `${name} to '${request.case}'`;
  }

  #nextId(): string {
    return `trunkline-${++this.#lastId}`;
  }

  #lost(error: unknown): Error {
    if (error instanceof TrunklineError && error.code === "limit") return this.#unreadable(error);
    const isBrokenOff = error instanceof ConnectionError && error.trouble === "reset";
    const what = isBrokenOff ? "aborted the exchange" : "was lost";
    const why = error instanceof Error ? error.message : String(error);
    return new LostError(
      `${this.#name} ${what} before it had answered: the request may or may not have been carried out. ${why}`,
    );
  }

  #unreadable({ code, message }: TrunklineError): TrunklineError {
    return new TrunklineError(code, `${this.#name} gave no answer that can be read. ${message}`);
  }
}

/** The connection was lost before the answer came. */
export class LostError extends TrunklineError {
  constructor(message: string) {
    super("closed", message);
  }
}
