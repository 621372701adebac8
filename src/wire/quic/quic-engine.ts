import { join } from "node:path";
import { background } from "../../base/background.ts";
import { OwnedChild } from "../../base/process/child-process.ts";
import { ConnectionError } from "./connection-error.ts";
import type { ConnectionLimits, PeerCertificate } from "./connection.ts";
import * as frames from "./control-frame.ts";
import { FrameWriter } from "./frame-writer.ts";
import { readPeerCertificate } from "./peer-certificate.ts";
import type {
  ConnectedPeer,
  DialSettings,
  EndReason,
  ListenSettings,
  TlsSettings,
} from "./settings.ts";
import {
  HeldBytes,
  MultiplexedConnection,
  MultiplexedStream,
} from "./stream/multiplexed-stream.ts";

/**
 * The program's QUIC engine: started with the first connection or listener, ended after the last,
 * and started anew when it is needed after a crash.
 */
export class QuicEngine {
  #starting: Promise<EngineSession> | undefined;
  #current: EngineSession | undefined;

  /** The process that runs native code, if there is one. */
  async pid(): Promise<number | undefined> {
    return (await this.#starting)?.pid;
  }

  async dial(...given: Parameters<EngineSession["dial"]>): Promise<QuicConnection> {
    return (await this.#session()).dial(...given);
  }

  /** Returns the engine's run and the listener's number in it. */
  async listen(
    settings: ListenSettings,
    listener: ListenerEvents,
  ): Promise<readonly [EngineSession, number]> {
    const session = await this.#session();
    return [session, session.listen(settings, listener)];
  }

  async #session(): Promise<EngineSession> {
    for (;;) {
      const starting = (this.#starting ??= this.#start());
      const session = await starting;
      if (!session.isOver) return session;
      if (this.#starting === starting) this.#starting = this.#current = undefined;
    }
  }

  async #start(): Promise<EngineSession> {
    try {
      this.#current = engineSession(await startEngineProcess(), (session) => {
        if (this.#current === session) this.#starting = this.#current = undefined;
        background(session.end(), "Ending a session of QUIC");
      });
      return this.#current;
    } catch (error) {
      this.#starting = undefined;
      throw error;
    }
  }
}

/** The engine of the whole program. */
export const sharedEngine = new QuicEngine();

/**
 * The engine's code, which the bundler inserts: a file of our package may have been removed or replaced
 * when an engine is started.
 */
declare const __TRUNKLINE_QUIC_ENGINE__: string | undefined;

const MOST_COMPLAINTS = 20;

/** The process that runs the native code, so that a crash there does not end the program. */
export async function startEngineProcess() {
  const complaints: string[] = [];
  const program =
    typeof __TRUNKLINE_QUIC_ENGINE__ === "string"
      ? ["--input-type=commonjs", "--eval", __TRUNKLINE_QUIC_ENGINE__]
      : [join(import.meta.dirname, "engine-main.ts")];
  const child = await OwnedChild.start({
    command: process.execPath,
    args: ["--experimental-ffi", "--expose-gc", "--no-warnings", ...program],
    env: {},
    stderr: (line) => {
      if (complaints.length < MOST_COMPLAINTS) complaints.push(line);
    },
  });
  const writer = new FrameWriter(child.stdin);
  let rest: Buffer | undefined;
  return {
    pid: child.pid,
    /** Delivers the engine's events, and finally how it ended. */
    receive(take: frames.TakeFrame, gone: (how: string) => void): void {
      child.stdout.on("data", (chunk: Buffer) => {
        const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
        const done = frames.readFrames(bytes, take);
        rest = done < bytes.length ? bytes.subarray(done) : undefined;
      });
      child.stdout.on("error", () => {});
      background(
        child.exit.then((exit) => {
          const how = typeof exit === "number" ? `exit code ${exit}` : exit;
          const why = complaints.find((line) => line.includes("Error")) ?? complaints[0];
          gone(why === undefined ? how : `${how}: ${why}`);
        }),
        "Noting the end of the QUIC engine",
      );
    },
    send: (...frame: Parameters<FrameWriter["send"]>): void => writer.send(...frame),
    /** Lets the engine close its connections and end. */
    end(): Promise<void> {
      writer.flush();
      return child.end();
    },
  };
}

/** What a listener is told by the engine. */
export interface ListenerEvents {
  readonly address: string;
  readonly limits: ConnectionLimits;
  listening(port: number): void;
  renewed(problem: EndReason | undefined): void;
  connected(connection: QuicConnection): void;
  stream(stream: MultiplexedStream, connection: QuicConnection): void;
  refused(ending: EndReason): void;
  closed(ending: EndReason): void;
}

/** The process of an engine. */
export type EngineLink = Awaited<ReturnType<typeof startEngineProcess>>;

/** Everything that lives in one run of the engine, and ends with it. */
export type EngineSession = ReturnType<typeof engineSession>;

export function engineSession(engine: EngineLink, unused: (session: EngineSession) => void) {
  const streams = new Map<number, MultiplexedStream>();
  const connections = new Map<number, QuicConnection>();
  const takenBy = new Map<number, ListenerEvents>();
  const listeners = new Map<number, ListenerEvents>();
  let lastId = 0;
  const event = (kind: number, flags: number, id: number, payload: Buffer): void => {
    const told = (): unknown => JSON.parse(payload.toString());
    switch (kind) {
      case frames.EVENT.data:
        return data(flags, id, payload);
      case frames.EVENT.room:
        return streams.get(id)?.giveRoom(payload.readUInt32LE());
      case frames.EVENT.reset:
        return streams.get(id)?.resetByPeer(payload.readUInt32LE());
      case frames.EVENT.connected:
        return connected(id, told() as ConnectedPeer);
      case frames.EVENT.closed:
        return closed(id, told() as EndReason);
      case frames.EVENT.refused:
        return listeners.get(id)?.refused(told() as EndReason);
      case frames.EVENT.listening:
        return listeners.get(id)?.listening((told() as { port: number }).port);
      case frames.EVENT.renewed:
        return listeners.get(id)?.renewed((told() as { problem?: EndReason }).problem);
    }
  };
  /** Even: the engine's own ids are odd. */
  const nextId = (): number => {
    do lastId = (lastId + 2) >>> 0;
    while (lastId === 0 || streams.has(lastId) || isTaken(lastId));
    return lastId;
  };
  const isTaken = (id: number): boolean => connections.has(id) || listeners.has(id);
  const sendJson = (kind: number, id: number, value: object): void =>
    engine.send(kind, 0, id, Buffer.from(JSON.stringify(value)));
  const data = (flags: number, id: number, payload: Buffer): void => {
    const isLast = (flags & frames.LAST) !== 0;
    if ((flags & frames.FIRST) === 0) return streams.get(id)?.receive(payload, isLast);
    const connection = connections.get(payload.readUInt32LE());
    const listener = connection === undefined ? undefined : takenBy.get(connection.id);
    if (connection === undefined || listener === undefined || connection.isClosed) return;
    const stream = connection.acceptStream(id);
    stream.receive(payload.subarray(4), isLast);
    listener.stream(stream, connection);
  };
  const connected = (id: number, peer: ConnectedPeer): void => {
    const known = connections.get(id);
    if (known !== undefined) return known.connected(peer);
    const listener = listeners.get(peer.listener ?? 0);
    if (listener === undefined) return;
    const held = new HeldBytes(listener.limits.maxHeld);
    const connection = new QuicConnection(session, id, listener.address, held);
    connections.set(id, connection);
    takenBy.set(id, listener);
    connection.connected(peer);
    listener.connected(connection);
  };
  const closed = (id: number, ending: EndReason): void => {
    const connection = connections.get(id);
    const listener = listeners.get(id);
    connections.delete(id);
    takenBy.delete(id);
    listeners.delete(id);
    connection?.end(ending);
    listener?.closed(ending);
    if (connections.size === 0 && listeners.size === 0) unused(session);
  };
  const gone = (how: string): void => {
    session.isOver = true;
    const ending: EndReason = { trouble: "engine", detail: `the QUIC engine stopped (${how})` };
    const ended = [...connections.values()];
    const closing = [...listeners.values()];
    connections.clear();
    listeners.clear();
    unused(session);
    for (const connection of ended) connection.end(ending);
    for (const listener of closing) listener.closed(ending);
  };
  const session = {
    streams,
    isOver: false,
    pid: engine.pid,
    dial(settings: DialSettings, address: string, held: HeldBytes): QuicConnection {
      const connection = new QuicConnection(session, nextId(), address, held);
      connections.set(connection.id, connection);
      sendJson(frames.COMMAND.dial, connection.id, settings);
      return connection;
    },
    listen(settings: ListenSettings, listener: ListenerEvents): number {
      const id = nextId();
      listeners.set(id, listener);
      sendJson(frames.COMMAND.listen, id, settings);
      return id;
    },
    renew: (listener: number, settings: TlsSettings): void =>
      sendJson(frames.COMMAND.renew, listener, settings),
    /** Ends the engine; what still lives in it ends as if it had failed. */
    async end(): Promise<void> {
      session.isOver = true;
      await engine.end();
    },
    send: (...frame: Parameters<EngineLink["send"]>): void => engine.send(...frame),
    sendNumber: (kind: number, id: number, value: number): void =>
      engine.send(kind, 0, id, undefined, value),
    sendClose: (id: number, code: number, reason: string): void =>
      engine.send(frames.COMMAND.close, 0, id, Buffer.from(reason), code),
    nextId,
  };
  engine.receive(event, gone);
  return session;
}

/**
 * A stream that breaks while the peer sends permanently uses up part of the connection's flow control
 * window: OpenSSL does not give the bytes back that it drops (RFC 9000 § 4.5 says how it could).
 */
const BROKEN_WEAR = 250;

/** A connection whose native half is in the engine. */
export class QuicConnection extends MultiplexedConnection {
  readonly id: number;
  readonly writeWindow = frames.WRITE_WINDOW;
  /** Resolves when the handshake is done, fails when it is refused. */
  readonly opened: Promise<this>;
  readonly #opened = Promise.withResolvers<this>();
  readonly #session: EngineSession;
  #certificate: Buffer | undefined;
  #peer: PeerCertificate | undefined;
  wear = 0;
  #state: "opening" | "open" | "closing" | "over" = "opening";
  #ending: EndReason = { trouble: "closed", detail: "" };

  constructor(session: EngineSession, id: number, address: string, held: HeldBytes) {
    super(address, held);
    this.id = id;
    this.#session = session;
    this.opened = this.#opened.promise;
    this.opened.catch(() => {});
  }

  get peer(): PeerCertificate | undefined {
    if (this.#certificate !== undefined) this.#peer ??= readPeerCertificate(this.#certificate);
    return this.#peer;
  }

  get lead(): number {
    return this.id;
  }

  get isClosed(): boolean {
    return this.isDraining || this.#state === "closing" || this.#state === "over";
  }

  openStream(): MultiplexedStream {
    this.wear += 1;
    const stream = this.#add(this.#session.nextId(), false);
    if (this.isClosed) stream.fail(this.#trouble("open a stream", this.#ending));
    return stream;
  }

  /** The peer opened a stream. */
  acceptStream(id: number): MultiplexedStream {
    return this.#add(id, true);
  }

  async close(code = 0, reason = ""): Promise<void> {
    if (this.#state === "opening" || this.#state === "open") {
      this.#state = "closing";
      this.#session.sendClose(this.id, code, reason);
      this.failStreams(this.#trouble("continue", this.#ending));
    }
    await this.closed;
  }

  /** Gives up a connection that is not there yet. */
  cancel(): void {
    this.#session.sendClose(this.id, 0, "");
    this.end({ trouble: "cancelled", detail: "it was cancelled on this side" });
  }

  connected({ certificate }: ConnectedPeer): void {
    if (this.#state !== "opening") return;
    this.#state = "open";
    if (certificate !== undefined) this.#certificate = Buffer.from(certificate, "base64");
    this.#opened.resolve(this);
  }

  /** The engine reports the end of the connection, or has ended itself. */
  end(ending: EndReason): void {
    if (this.#state === "over") return;
    const error = this.#trouble(this.#state === "opening" ? `connect` : `continue`, ending);
    this.#state = "over";
    this.#ending = ending;
    this.#opened.reject(error);
    this.failStreams(error);
    this.ended.resolve(error);
  }

  override forget(stream: MultiplexedStream, isBroken: boolean): void {
    if (isBroken) this.wear += BROKEN_WEAR;
    this.#session.streams.delete(stream.id);
    super.forget(stream, isBroken);
  }

  #add(id: number, isOpened: boolean): MultiplexedStream {
    const stream = new MultiplexedStream(this.#session, this, id, isOpened);
    this.streams.set(stream.id, stream);
    this.#session.streams.set(stream.id, stream);
    return stream;
  }

  #trouble(what: string, ending: EndReason): ConnectionError {
    const how = what === "connect" ? `connect to ${this.address}` : `${what} with ${this.address}`;
    return ConnectionError.of(`Cannot ${how}`, ending);
  }
}
