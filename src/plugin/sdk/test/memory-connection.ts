import { background } from "../../../base/background.ts";
import { type Stop, Stopper } from "../../../base/stop.ts";
import { TrunklineError } from "../../../base/errors.ts";
import type { BidiStream, Connection } from "../../../wire/quic/connection.ts";
import { ConnectionError } from "../../../wire/quic/connection-error.ts";

type Serve = (stream: BidiStream, connection: Connection) => void;

/** A connection inside the program: all that others do, without a network. */
export class MemoryConnection implements Connection {
  readonly address = "memory";
  readonly peer = undefined;
  readonly closed: Promise<ConnectionError>;
  readonly #close: (reason: ConnectionError) => void;
  readonly #serve: Serve;
  readonly #streams = new Set<MemoryStream>();
  #isClosed = false;

  /** `serve` answers the exchanges that are opened. */
  constructor(serve: Serve) {
    this.#serve = serve;
    const { promise, resolve } = Promise.withResolvers<ConnectionError>();
    this.closed = promise;
    this.#close = resolve;
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  openStream(): BidiStream {
    if (this.#isClosed) throw new ConnectionError("closed", "The connection is closed");
    const [there, back] = [new Pipe(), new Pipe()];
    const ours = new MemoryStream(back, there);
    const theirs = new MemoryStream(there, back);
    this.#streams.add(ours);
    background(
      Promise.allSettled([there.over, back.over]).then(() => this.#streams.delete(ours)),
      "Closing a stream",
    );
    this.#serve(theirs, this);
    return ours;
  }

  async drain(): Promise<void> {
    await this.close();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const stream of this.#streams) stream.reset();
    this.#close(new ConnectionError("closed", "The connection was closed"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** One side of an exchange. */
class MemoryStream implements BidiStream {
  readonly #from: Pipe;
  readonly #to: Pipe;
  readonly #stopper = new Stopper();

  constructor(from: Pipe, to: Pipe) {
    this.#from = from;
    this.#to = to;
    for (const pipe of [from, to]) {
      pipe.over.catch((reason: unknown) => this.#stopper.stop(reason as Error));
    }
  }

  get stop(): Stop {
    return this.#stopper;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#to.push(bytes);
  }

  async end(bytes?: Uint8Array): Promise<void> {
    if (bytes !== undefined) this.#to.push(bytes);
    this.#to.end();
  }

  async readAll(limit: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    let size = 0;
    for await (const part of this.#from.read()) {
      size += part.length;
      if (size > limit) throw new TrunklineError("limit", `There are more than ${limit} bytes`);
      parts.push(part);
    }
    return Buffer.concat(parts);
  }

  chunks(): AsyncGenerator<Buffer, void, void> {
    return this.#from.read();
  }

  reset(): void {
    const reason = new ConnectionError("reset", "The stream was broken off");
    this.#from.fail(reason);
    this.#to.fail(reason);
  }
}

/** Bytes on their way in one direction. */
class Pipe {
  /** Resolves when all has been sent, rejects when it was broken off before. */
  readonly over: Promise<void>;
  readonly #over = Promise.withResolvers<void>();
  readonly #waiting: Buffer[] = [];
  #isOver = false;
  #reason: Error | undefined;
  #changed = Promise.withResolvers<void>();

  constructor() {
    this.over = this.#over.promise;
    this.over.catch(() => {});
  }

  push(bytes: Uint8Array): void {
    if (this.#isOver) throw this.#reason ?? new ConnectionError("closed", "The stream has ended");
    this.#waiting.push(Buffer.from(bytes));
    this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#over.resolve();
    this.#wake();
  }

  fail(reason: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reason = reason;
    this.#over.reject(reason);
    this.#wake();
  }

  async *read(): AsyncGenerator<Buffer, void, void> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) yield next;
      else if (this.#reason !== undefined) throw this.#reason;
      else if (this.#isOver) return;
      else await this.#changed.promise;
    }
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
