import { TrunklineError } from "../../base/errors.ts";
import type { Stop, StopListener } from "../../base/stop.ts";
import { MAX_FRAME } from "../../wire/framing/length-prefixed.ts";
import type { BidiStream } from "../../wire/quic/connection.ts";
import { bodyOf, decodeResponse, encodeRequest, type RequestInit } from "./codec.ts";
import type { PluginResponse } from "./plugin.gen.ts";
import { Redial, type RedialOptions } from "./redial.ts";
import { readResponses } from "./response-stream.ts";

/** What is asked, by the name of its kind. */
export type Asked = NonNullable<RequestInit["request"]>;

export interface AskOptions {
  /** Gives the request up. */
  readonly stop?: Stop;
  /** Milliseconds to wait for the answer; no limit when left out. */
  readonly timeout?: number;
  /** Asks once more when the connection is lost over it: only where that is harmless. */
  readonly again?: boolean;
}

/** The largest frame and its length. */
const MOST_BYTES = MAX_FRAME + 4;
const CANCELLED = 1;

/** The asking side of the bus: a stream for each request, on a connection that comes back. */
export class BusClient implements AsyncDisposable {
  readonly #name: string;
  readonly #redial: Redial;
  #lastId = 0;

  constructor(options: RedialOptions) {
    this.#name = options.name;
    this.#redial = new Redial(options);
  }

  get isUp(): boolean {
    return this.#redial.isUp;
  }

  /** Connects now, so that a failure is known before anything is asked. */
  async connect(): Promise<void> {
    await this.#redial.get();
  }

  /** Asks and waits for the answer. A connection that is lost over it is said to be. */
  async ask(request: Asked, options: AskOptions = {}): Promise<PluginResponse> {
    try {
      return await this.#once(request, options);
    } catch (error) {
      if (!(error instanceof LostError) || options.again !== true) throw error;
      return await this.#once(request, options);
    }
  }

  /** Asks for what comes in pieces. Whoever stops reading early breaks the stream off. */
  async *askForMany(
    request: Asked,
    { stop }: Pick<AskOptions, "stop"> = {},
  ): AsyncGenerator<PluginResponse, void, void> {
    const connection = await this.#redial.get();
    const stream = connection.openStream();
    const breakOff = { stopped: () => stream.reset(CANCELLED) };
    stop?.add(breakOff);
    try {
      await stream.end(this.#frameOf(request));
      yield* readResponses(stream);
    } finally {
      stop?.remove(breakOff);
      stream.reset(CANCELLED);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#redial[Symbol.asyncDispose]();
  }

  async #once(request: Asked, options: AskOptions): Promise<PluginResponse> {
    const frame = this.#frameOf(request);
    const connection = await this.#redial.get();
    const stream = connection.openStream();
    using limit = new Limit(stream, options, `${this.#name} to answer '${request.case}'`);
    let bytes: Uint8Array;
    try {
      // The end goes out with the request: others lose track of a stream whose end comes apart.
      await stream.end(frame);
      bytes = await stream.readAll(MOST_BYTES);
    } catch (error) {
      throw limit.reason ?? this.#lost(error);
    }
    return decodeResponse(bodyOf(bytes));
  }

  #frameOf(request: Asked): Buffer {
    return encodeRequest({ requestId: `trunkline-${++this.#lastId}`, request });
  }

  #lost(error: unknown): Error {
    if (error instanceof TrunklineError && error.code === "limit") return error;
    const why = error instanceof Error ? error.message : String(error);
    return new LostError(
      `${this.#name} was lost before it had answered: what was asked may have been done or not. ${why}`,
    );
  }
}

/** The connection went before there was an answer. */
export class LostError extends TrunklineError {
  constructor(message: string) {
    super("closed", message);
  }
}

/** Breaks an exchange off when its work is called off or takes too long. */
class Limit implements StopListener, Disposable {
  readonly #stream: BidiStream;
  readonly #stop: Stop | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  /** Why it was broken off, if it was. */
  reason: Error | undefined;

  constructor(stream: BidiStream, { stop, timeout }: AskOptions, what: string) {
    this.#stream = stream;
    this.#stop = stop;
    if (timeout !== undefined) {
      this.#timer = setTimeout(() => {
        this.stopped(new TrunklineError("timeout", `Waited ${timeout} ms for ${what}`));
      }, timeout);
    }
    stop?.add(this);
  }

  stopped(reason: Error): void {
    this.reason ??= reason;
    this.#stream.reset(CANCELLED);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#stop?.remove(this);
  }
}
