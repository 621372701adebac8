import { background } from "../../base/background.ts";
import { formatAddress } from "./address.ts";
import { AdmittedConnections } from "./admitted-connections.ts";
import {
  BUS_ALPN,
  type ConnectionLimits,
  type Credentials,
  type Listener,
  type ListenOptions,
  resolveConnectionLimits,
} from "./connection.ts";
import { ConnectionError } from "./connection-error.ts";
import type { EngineSession, ListenerEvents, QuicConnection, QuicEngine } from "./quic-engine.ts";
import type { MultiplexedStream } from "./stream/multiplexed-stream.ts";
import type { EndReason, ListenSettings } from "./settings.ts";

const FIRST_WAIT = 50;
const LONGEST_WAIT = 5_000;
/** Milliseconds: an engine that ran longer did not crash because of its first commands. */
const STEADY = 10_000;

/** Accepts connections at an address, and listens again if the engine crashes. */
export class QuicListener implements Listener, ListenerEvents {
  readonly limits: ConnectionLimits;
  readonly #engine: QuicEngine;
  readonly #options: ListenOptions;
  readonly #host: string;
  readonly #connections: AdmittedConnections<QuicConnection>;
  port: number;
  #credentials: Credentials;
  #session: EngineSession | undefined;
  #id = 0;
  #listening = newPromise();
  #hasListened = false;
  #renewing: PromiseWithResolvers<void> | undefined;
  readonly #closed = Promise.withResolvers<void>();
  #isClosing = false;
  #failures = 0;
  #listeningSince = 0;
  #retry: NodeJS.Timeout | undefined;

  private constructor(engine: QuicEngine, host: string, port: number, options: ListenOptions) {
    this.#engine = engine;
    this.#host = host;
    this.port = port;
    this.#options = options;
    this.#credentials = options.credentials;
    this.limits = resolveConnectionLimits(options.limits);
    this.#connections = new AdmittedConnections(options, this.limits);
  }

  static async open(
    host: string,
    port: number,
    options: ListenOptions,
    engine: QuicEngine,
  ): Promise<QuicListener> {
    const listener = new QuicListener(engine, host, port, options);
    await listener.#listen();
    return listener;
  }

  get address(): string {
    return formatAddress({ scheme: "quic", host: this.#host, port: this.port });
  }

  async renew(credentials: Credentials): Promise<void> {
    await this.#listening.promise;
    await this.#renewing?.promise.catch(() => {});
    this.#renewing = newPromise();
    this.#session?.renew(this.#id, { ...credentials, alpn: this.#options.alpn ?? BUS_ALPN });
    await this.#renewing.promise;
    // Needed if it has to listen again.
    this.#credentials = credentials;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isClosing) {
      this.#isClosing = true;
      clearTimeout(this.#retry);
      // The last answers may still be in flight.
      await this.#connections.close();
      // While it waits to listen anew there is nothing to close.
      if (this.#session === undefined) this.#closed.resolve();
      this.#session?.sendClose(this.#id, 0, "");
    }
    await this.#closed.promise;
  }

  listening(port: number): void {
    this.port = port;
    this.#hasListened = true;
    this.#listeningSince = performance.now();
    this.#listening.resolve();
  }

  renewed(problem: EndReason | undefined): void {
    if (problem === undefined) this.#renewing?.resolve();
    else this.#renewing?.reject(this.#trouble("renew the certificates of", problem));
    this.#renewing = undefined;
  }

  connected(connection: QuicConnection): void {
    const detail = this.#connections.problemWith(connection);
    if (detail !== undefined) {
      this.refused({ trouble: "full", detail });
      background(connection.close(0, "too many connections"), "Closing a connection");
      return;
    }
    this.#connections.add(connection);
    this.#options.connected?.(connection);
  }

  stream(stream: MultiplexedStream, connection: QuicConnection): void {
    this.#options.stream(stream, connection);
  }

  refused(ending: EndReason): void {
    this.#options.refused?.(this.#trouble("let a client in at", ending));
  }

  closed(ending: EndReason): void {
    const error = this.#trouble("listen on", ending);
    this.#session = undefined;
    this.#renewing?.reject(error);
    this.#renewing = undefined;
    this.#listening.reject(error);
    if (this.#isClosing || !this.#hasListened) {
      this.#connections.stop();
      this.#closed.resolve();
      return;
    }
    this.#options.lost?.(error);
    this.#again();
  }

  /** The address was lost with the engine, and is taken again. */
  #again(): void {
    if (performance.now() - this.#listeningSince > STEADY) this.#failures = 0;
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (this.#failures - 1));
    // At once the first time: until the address is taken again, clients are not told anything.
    const isFirst = this.#failures === 0;
    this.#failures += 1;
    this.#listening = newPromise();
    this.#retry = setTimeout(
      () => {
        this.#listen().catch(() => {});
      },
      isFirst ? 0 : wait,
    );
  }

  async #listen(): Promise<void> {
    try {
      [this.#session, this.#id] = await this.#engine.listen(this.#settings(), this);
    } catch (error) {
      this.closed({ trouble: "engine", detail: (error as Error).message });
      throw error;
    }
    if (this.#isClosing) this.#session.sendClose(this.#id, 0, "");
    await this.#listening.promise;
  }

  #settings(): ListenSettings {
    const { alpn = BUS_ALPN, clientCertificate = "require" } = this.#options;
    const tls = { ...this.#credentials, alpn };
    return { ...this.limits, host: this.#host, port: this.port, tls, clientCertificate };
  }

  #trouble(what: string, ending: EndReason): ConnectionError {
    return ConnectionError.of(`Cannot ${what} ${this.address}`, ending);
  }
}

/** A promise whose rejection may stay unhandled. */
function newPromise(): PromiseWithResolvers<void> {
  const promise = Promise.withResolvers<void>();
  promise.promise.catch(() => {});
  return promise;
}
