import type { ConnectionLimits } from "./connection.ts";
import { COMMAND, EVENT, FIRST, LAST } from "./control-frame.ts";
import type { EngineProcess } from "./engine-process.ts";
import type { HeldBytes } from "./stream/held-bytes.ts";
import { QuicConnection } from "./quic-connection.ts";
import type { MultiplexedStream } from "./stream/multiplexed-stream.ts";
import type { Connected, DialSettings, Ending, ListenSettings, TlsSettings } from "./settings.ts";

/** What a listener is told by the engine. */
export interface ListenerEvents {
  readonly address: string;
  readonly limits: ConnectionLimits;
  listening(port: number): void;
  renewed(problem: Ending | undefined): void;
  connected(connection: QuicConnection): void;
  stream(stream: MultiplexedStream, connection: QuicConnection): void;
  refused(ending: Ending): void;
  closed(ending: Ending): void;
}

/** As much of the engine's process as its session needs. */
type EngineLink = Pick<EngineProcess, "pid" | "receive" | "send" | "end">;

/** Everything that lives in one run of the engine, and ends with it. */
export class EngineSession {
  readonly streams = new Map<number, MultiplexedStream>();
  readonly #process: EngineLink;
  readonly #connections = new Map<number, QuicConnection>();
  readonly #takenBy = new Map<number, ListenerEvents>();
  readonly #listeners = new Map<number, ListenerEvents>();
  readonly #unused: (session: EngineSession) => void;
  #lastId = 0;
  #isOver = false;

  /** `unused` is called when the last connection or listener has gone, or the engine itself. */
  constructor(engine: EngineLink, unused: (session: EngineSession) => void) {
    this.#process = engine;
    this.#unused = unused;
    engine.receive(this.#event, (how) => this.#gone(how));
  }

  get pid(): number {
    return this.#process.pid;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  dial(
    settings: DialSettings,
    address: string,
    limits: ConnectionLimits,
    held: HeldBytes | undefined,
  ): QuicConnection {
    const connection = new QuicConnection(this, this.nextId(), address, limits, held);
    this.#connections.set(connection.id, connection);
    this.#sendJson(COMMAND.dial, connection.id, settings);
    return connection;
  }

  listen(settings: ListenSettings, listener: ListenerEvents): number {
    const id = this.nextId();
    this.#listeners.set(id, listener);
    this.#sendJson(COMMAND.listen, id, settings);
    return id;
  }

  renew(listener: number, settings: TlsSettings): void {
    this.#sendJson(COMMAND.renew, listener, settings);
  }

  /** Ends the engine; what still lives in it ends as if it had failed. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#process.end();
  }

  send(kind: number, flags: number, id: number, payload?: Uint8Array, lead?: number): void {
    this.#process.send(kind, flags, id, payload, lead);
  }

  sendNumber(kind: number, id: number, value: number): void {
    this.#process.send(kind, 0, id, undefined, value);
  }

  sendClose(id: number, code: number, reason: string): void {
    this.#process.send(COMMAND.close, 0, id, Buffer.from(reason), code);
  }

  /** Even, so that it is none of the engine's, which are odd. */
  nextId(): number {
    do this.#lastId = (this.#lastId + 2) >>> 0;
    while (this.#lastId === 0 || this.streams.has(this.#lastId) || this.#isTaken(this.#lastId));
    return this.#lastId;
  }

  #isTaken(id: number): boolean {
    return this.#connections.has(id) || this.#listeners.has(id);
  }

  #sendJson(kind: number, id: number, value: object): void {
    this.#process.send(kind, 0, id, Buffer.from(JSON.stringify(value)));
  }

  readonly #event = (kind: number, flags: number, id: number, payload: Buffer): void => {
    switch (kind) {
      case EVENT.data:
        return this.#data(flags, id, payload);
      case EVENT.room:
        return this.streams.get(id)?.giveRoom(payload.readUInt32LE());
      case EVENT.reset:
        return this.streams.get(id)?.resetByPeer(payload.readUInt32LE());
      case EVENT.quiet:
        return this.#connections.get(id)?.heard(payload.readUInt32LE() === 0);
      case EVENT.connected:
        return this.#connected(id, JSON.parse(payload.toString()) as Connected);
      case EVENT.closed:
        return this.#closed(id, JSON.parse(payload.toString()) as Ending);
      case EVENT.refused:
        return this.#listeners.get(id)?.refused(JSON.parse(payload.toString()) as Ending);
      case EVENT.listening: {
        const { port } = JSON.parse(payload.toString()) as { port: number };
        return this.#listeners.get(id)?.listening(port);
      }
      case EVENT.renewed: {
        const { problem } = JSON.parse(payload.toString()) as { problem?: Ending };
        return this.#listeners.get(id)?.renewed(problem);
      }
    }
  };

  #data(flags: number, id: number, payload: Buffer): void {
    const isLast = (flags & LAST) !== 0;
    if ((flags & FIRST) === 0) {
      this.streams.get(id)?.receive(payload, isLast);
      return;
    }
    const connection = this.#connections.get(payload.readUInt32LE());
    const listener = connection === undefined ? undefined : this.#takenBy.get(connection.id);
    if (connection === undefined || listener === undefined || connection.isClosed) return;
    const stream = connection.acceptStream(id);
    stream.receive(payload.subarray(4), isLast);
    listener.stream(stream, connection);
  }

  #connected(id: number, connected: Connected): void {
    const known = this.#connections.get(id);
    if (known !== undefined) return known.connected(connected);
    const listener = this.#listeners.get(connected.listener ?? 0);
    if (listener === undefined) return;
    const connection = new QuicConnection(this, id, listener.address, listener.limits);
    this.#connections.set(id, connection);
    this.#takenBy.set(id, listener);
    connection.connected(connected);
    listener.connected(connection);
  }

  #closed(id: number, ending: Ending): void {
    const connection = this.#connections.get(id);
    const listener = this.#listeners.get(id);
    this.#connections.delete(id);
    this.#takenBy.delete(id);
    this.#listeners.delete(id);
    connection?.end(ending);
    listener?.closed(ending);
    if (this.#connections.size === 0 && this.#listeners.size === 0) this.#unused(this);
  }

  #gone(how: string): void {
    this.#isOver = true;
    const ending: Ending = { trouble: "engine", detail: `the QUIC engine stopped (${how})` };
    const connections = [...this.#connections.values()];
    const listeners = [...this.#listeners.values()];
    this.#connections.clear();
    this.#listeners.clear();
    this.#unused(this);
    for (const connection of connections) connection.end(ending);
    for (const listener of listeners) listener.closed(ending);
  }
}
