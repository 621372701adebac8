import { isIP } from "node:net";
import * as ffi from "../../../base/process/ffi.ts";
import { COMMAND, EVENT, FIRST, LAST } from "../control-frame.ts";
import type { DialSettings, EndReason, ListenSettings, TlsSettings } from "../settings.ts";
import { ControlPipe } from "./control-pipe.ts";
import { NativeConnection } from "./native-connection.ts";
import type { NativeStream } from "./native-stream.ts";
import { EngineError, giveBackFreed, native, takeErrors } from "./native.ts";
import { PollSet, WAIT, type PollEntry } from "./poll-set.ts";
import { SendLoad } from "./send-window.ts";
import { TlsContext } from "./tls-context.ts";
import { bindSocket, connectSocket, withAddress } from "./udp-socket.ts";

const READS_NOTHING: EndReason = {
  trouble: "limit",
  detail: "it does not take what it is sent",
};
/**
 * Milliseconds by which a deadline may be missed. What falls due is mostly an acknowledgement, which would
 * wake two engines; a busy engine sends it with the next event instead.
 */
const SLACK = 5;

/** Memory is returned to the system after so many connections have ended, and so many milliseconds later. */
const WORTH_GIVING = 16;
const GIVE_BACK_AFTER = 2_000;

/**
 * The loop of the process that runs native code: waits for the sockets, the program and the next
 * deadline in one call, then serves whoever has something to do.
 */
export class Engine {
  readonly pipe = new ControlPipe();
  readonly streams = new Map<number, NativeStream>();
  readonly connections = new Map<number, NativeConnection>();
  /** Bytes that are to be sent, counted for each peer. */
  readonly load = new SendLoad<NativeConnection>((connection) =>
    this.doomed.set(connection, READS_NOTHING),
  );
  /** The time of this turn, in milliseconds. */
  now = performance.now();
  /** OpenSSL has something to send, so the endpoint needs another turn. */
  needsTurn = false;
  /** By their socket. */
  readonly #endpoints = new Map<number, Endpoint>();
  readonly #listeners = new Map<number, ListenerEndpoint>();
  /** Endpoints to be served in this turn. */
  readonly touched = new Set<Endpoint>();
  /** Endpoints to be served once the program has read what it was told. */
  readonly starved = new Set<Endpoint>();
  /** Connections to be cut at the end of the turn. */
  readonly doomed = new Map<NativeConnection, EndReason>();
  readonly #files = new FileWatch();
  #awaitsRoom = false;
  #isWanted = true;
  #nextCheck = Infinity;
  /** Connections that have ended since memory was returned, and when it is returned next. */
  #ended = 0;
  #giveBackAt = Infinity;
  #lastId = 1;

  /** Runs until the program is gone. */
  run(): void {
    this.#files.awaitInput(this.pipe.inputFd);
    do {
      this.#wait();
      if (this.now >= this.#nextCheck) this.#check();
      this.#serve();
      for (const [connection, ending] of this.doomed) connection.abandon(ending);
      this.doomed.clear();
      this.pipe.flush();
      if (!this.pipe.isFull && this.starved.size > 0) {
        for (const endpoint of this.starved) this.touched.add(endpoint);
        this.starved.clear();
      }
    } while (this.#isWanted);
    for (const connection of [...this.connections.values()]) connection.abandon();
  }

  /** Odd: the program's own ids are even. */
  nextId(): number {
    do this.#lastId = (this.#lastId + 2) >>> 0;
    while (this.streams.has(this.#lastId) || this.connections.has(this.#lastId));
    return this.#lastId;
  }

  addConnection(connection: NativeConnection): void {
    this.connections.set(connection.id, connection);
    this.#nextCheck = Math.min(this.#nextCheck, connection.nextCheck);
  }

  /** A connection wants to be looked at earlier. */
  checkBy(time: number): void {
    this.#nextCheck = Math.min(this.#nextCheck, time);
  }

  removeEndpoint(endpoint: Endpoint): void {
    this.#files.forget(endpoint.fd);
    this.#endpoints.delete(endpoint.fd);
    this.touched.delete(endpoint);
    this.starved.delete(endpoint);
  }

  #wait(): void {
    const ready = this.#files.wait(this.#patience());
    this.now = performance.now();
    // Deadlines and sockets first, since commands change which endpoints there are.
    for (const endpoint of this.#endpoints.values()) {
      if (endpoint.deadline <= this.now) this.touched.add(endpoint);
    }
    for (const fd of ready) {
      const endpoint = this.#endpoints.get(fd);
      if (endpoint !== undefined) this.touched.add(endpoint);
    }
    if (ready.includes(this.pipe.inputFd)) this.#isWanted = this.pipe.read(this.#command);
  }

  /** Milliseconds to wait when nothing comes. */
  #patience(): number {
    this.#awaitRoom();
    if (this.touched.size > 0) return 0;
    let deadline = this.#nextCheck;
    for (const endpoint of this.#endpoints.values()) {
      if (endpoint.deadline + SLACK < deadline) deadline = endpoint.deadline + SLACK;
    }
    return deadline === Infinity ? -1 : Math.max(0, Math.ceil(deadline - performance.now()));
  }

  #awaitRoom(): void {
    const { hasOutput, outputFd } = this.pipe;
    if (hasOutput === this.#awaitsRoom) return;
    this.#awaitsRoom = hasOutput;
    if (hasOutput) this.#files.awaitRoom(outputFd);
    else this.#files.forget(outputFd);
  }

  #serve(): void {
    const touched = [...this.touched];
    // An endpoint that is not done adds itself again, for the next turn.
    this.touched.clear();
    for (const endpoint of touched) endpoint.service();
  }

  /** Returns freed memory to the system soon, once for all connections that end until then. */
  connectionEnded(): void {
    this.#ended += 1;
    if (this.#ended < WORTH_GIVING || this.#giveBackAt !== Infinity) return;
    this.#giveBackAt = this.now + GIVE_BACK_AFTER;
    this.checkBy(this.#giveBackAt);
  }

  #check(): void {
    this.#nextCheck = Infinity;
    if (this.now >= this.#giveBackAt) {
      this.#giveBackAt = Infinity;
      this.#ended = 0;
      giveBackFreed();
    }
    this.checkBy(this.#giveBackAt);
    for (const connection of [...this.connections.values()]) {
      if (connection.nextCheck <= this.now) connection.check();
      if (!connection.isOver) this.checkBy(connection.nextCheck);
    }
  }

  readonly #command = (kind: number, flags: number, id: number, payload: Buffer): void => {
    switch (kind) {
      case COMMAND.write:
        return this.#write(flags, id, payload);
      case COMMAND.credit:
        return this.#onStream(id, (stream) => stream.grant(payload.readUInt32LE()));
      case COMMAND.reset:
        return this.#onStream(id, (stream) => stream.reset(payload.readUInt32LE()));
      case COMMAND.dial:
        return this.#try(id, () => {
          this.#add(new ClientEndpoint(this, id, JSON.parse(payload.toString()) as DialSettings));
        });
      case COMMAND.listen:
        return this.#try(id, () => {
          const settings = JSON.parse(payload.toString()) as ListenSettings;
          const listener = new ListenerEndpoint(this, id, settings);
          this.#listeners.set(id, listener);
          this.#add(listener);
          this.pipe.eventJson(EVENT.listening, id, { port: listener.port });
        });
      case COMMAND.renew:
        return this.#renew(id, JSON.parse(payload.toString()) as TlsSettings);
      case COMMAND.close:
        return this.#close(id, payload);
    }
  };

  #write(flags: number, id: number, payload: Buffer): void {
    const isLast = (flags & LAST) !== 0;
    if ((flags & FIRST) === 0) return this.#onStream(id, (stream) => stream.write(payload, isLast));
    const connection = this.connections.get(payload.readUInt32LE());
    // The program was told that the connection is over, and fails the stream itself.
    if (connection === undefined || connection.isEnding) return;
    const stream = connection.open(id);
    // Opening the stream may show that the connection is over. Bytes written then would count as unsent for ever.
    if (connection.isEnding) return;
    stream.write(payload.subarray(4), isLast);
    this.touched.add(connection.endpoint);
  }

  #onStream(id: number, act: (stream: NativeStream) => void): void {
    const stream = this.streams.get(id);
    // It may have ended while the command was on its way.
    if (stream === undefined) return;
    this.touched.add(stream.endpoint);
    act(stream);
  }

  #close(id: number, payload: Buffer): void {
    const connection = this.connections.get(id);
    if (connection !== undefined) {
      this.touched.add(connection.endpoint);
      connection.close(payload.readUInt32LE(), payload.toString("utf8", 4));
      return;
    }
    this.#listeners.get(id)?.close({ trouble: "closed", detail: "" });
    this.#listeners.delete(id);
  }

  #renew(id: number, settings: TlsSettings): void {
    try {
      this.#listeners.get(id)?.renew(settings);
      this.pipe.eventJson(EVENT.renewed, id, {});
    } catch (error) {
      this.pipe.eventJson(EVENT.renewed, id, { problem: endingOfError(error) });
    }
  }

  #add(endpoint: Endpoint): void {
    this.#endpoints.set(endpoint.fd, endpoint);
    this.#files.awaitInput(endpoint.fd);
    this.touched.add(endpoint);
  }

  #try(id: number, act: () => void): void {
    try {
      act();
    } catch (error) {
      this.pipe.eventJson(EVENT.closed, id, endingOfError(error));
    }
  }
}

function endingOfError(error: unknown): EndReason {
  if (!(error instanceof EngineError)) throw error;
  return { trouble: error.trouble, detail: error.message };
}

const VALUE_IDLE_TIMEOUT = 5;
const CTRL_SERVER_NAME = 55;
const TLSEXT_HOST_NAME = 0n;
const NO_BLOCK = 1n;
/** Turns of one endpoint before the others have theirs. */
const MOST_TURNS = 8;
/**
 * Bytes that are read before the flow control credit for them is sent. OpenSSL itself sends it when a
 * quarter of a window is left at the latest, which is far more: a waiting peer gets it in time.
 */
const WORTH_TELLING = 16 * 1024;
const timeout = ffi.pinnedBuffer(16);
const timeoutAddress = ffi.addressOf(timeout);
const isInfinite = ffi.pinnedBuffer(4);
const isInfiniteAddress = ffi.addressOf(isInfinite);

/** One UDP socket and the connections over it. */
export abstract class Endpoint {
  readonly pollSet = new PollSet();
  readonly connections = new Set<NativeConnection>();
  /** Connections in their handshake, or closing: `advance` is called for both at every turn. */
  readonly unsettled = new Set<NativeConnection>();
  /** Connections with streams that wait for acknowledgements of the peer. */
  readonly spending = new Set<NativeConnection>();
  readonly engine: Engine;
  abstract readonly fd: number;
  /** The time at which OpenSSL wants its turn without anything having come. */
  deadline = 0;
  #read = 0;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** The native object that handles the events of this socket; NULL when there is none left. */
  protected abstract root: ffi.Pointer;

  /** Reads what came, reports it to the program, and sends what is due. */
  service(): void {
    let turns = 0;
    do {
      if (this.root === ffi.NULL) return;
      native.SSL_handle_events(this.root);
      // What is written here is sent with the next turn.
      this.engine.needsTurn = this.#tidy();
      this.#read = 0;
      this.pollSet.settle();
      for (const connection of this.unsettled) {
        connection.advance();
        if (connection.isOpen) this.unsettled.delete(connection);
      }
      turns += 1;
    } while (this.engine.needsTurn && turns < MOST_TURNS);
    if (this.engine.needsTurn) this.engine.touched.add(this);
    this.#updateDeadline();
  }

  /** Bytes were read, so the peer may send as many more. */
  took(bytes: number): void {
    this.#read += bytes;
    if (this.#read >= WORTH_TELLING) this.engine.needsTurn = true;
  }

  drop(connection: NativeConnection): void {
    this.connections.delete(connection);
    this.unsettled.delete(connection);
    this.spending.delete(connection);
    this.engine.connections.delete(connection.id);
    this.engine.connectionEnded();
  }

  /** The connection whose handshake takes longest; undefined if none is in its handshake. */
  protected oldestArriving(): NativeConnection | undefined {
    return [...this.unsettled].find((connection) => connection.isArriving);
  }

  protected adopt(connection: NativeConnection): void {
    this.connections.add(connection);
    this.unsettled.add(connection);
    this.engine.addConnection(connection);
  }

  /** Whether something was written. */
  #tidy(): boolean {
    let hasWritten = false;
    for (const connection of this.spending) {
      connection.spent.release();
      if (connection.window.isAwaited) hasWritten = connection.window.advance() || hasWritten;
      else if (connection.spent.isEmpty) this.spending.delete(connection);
    }
    return hasWritten;
  }

  #updateDeadline(): void {
    this.deadline = Infinity;
    if (this.root === ffi.NULL) return;
    native.SSL_get_event_timeout(this.root, timeoutAddress, isInfiniteAddress);
    if (isInfinite.readUInt32LE() !== 0) return;
    const seconds = Number(timeout.readBigUInt64LE(0));
    const microseconds = Number(timeout.readBigUInt64LE(8));
    if (seconds === 0 && microseconds === 0) this.engine.touched.add(this);
    this.deadline = this.engine.now + seconds * 1_000 + microseconds / 1_000;
  }
}

/** A connection that we dial has a socket of its own. */
export class ClientEndpoint extends Endpoint {
  readonly fd: number;
  protected override root: ffi.Pointer;

  constructor(engine: Engine, id: number, settings: DialSettings) {
    super(engine);
    using context = TlsContext.forClient(settings.tls);
    const socket = connectSocket(settings.host, settings.port);
    this.fd = socket.fd;
    const ssl = native.SSL_new(context.pointer);
    this.root = ssl;
    // OpenSSL owns the socket from here on.
    native.SSL_set_bio(ssl, socket.bio, socket.bio);
    withAddress(settings.host, settings.port, (address) =>
      native.SSL_set1_initial_peer_addr(ssl, address),
    );
    setServerName(ssl, settings.serverName);
    offerAlpn(ssl, settings.tls);
    native.SSL_set_value_uint(ssl, 0, VALUE_IDLE_TIMEOUT, BigInt(settings.idleTimeout));
    this.adopt(new NativeConnection(engine, this, { ...settings, id, ssl, maxStreams: 0 }));
  }

  override drop(connection: NativeConnection): void {
    super.drop(connection);
    this.root = ffi.NULL;
    this.engine.removeEndpoint(this);
  }
}

const FULL = { trouble: "full", detail: "too many connections" } as const;

/** All connections that a listener took share its socket. */
export class ListenerEndpoint extends Endpoint implements PollEntry {
  readonly id: number;
  readonly fd: number;
  readonly port: number;
  slot = -1;
  readonly #context: TlsContext;
  readonly #settings: ListenSettings;
  ssl: ffi.Pointer;

  constructor(engine: Engine, id: number, settings: ListenSettings) {
    super(engine);
    this.id = id;
    this.#settings = settings;
    using opening = new DisposableStack();
    this.#context = opening.use(TlsContext.forServer(settings.tls, settings.clientCertificate));
    const socket = bindSocket(settings.host, settings.port);
    this.fd = socket.fd;
    this.port = socket.port;
    this.ssl = native.SSL_new_listener(this.#context.pointer, 0n);
    native.SSL_set_bio(this.ssl, socket.bio, socket.bio);
    native.SSL_set_blocking_mode(this.ssl, 0);
    if (native.SSL_listen(this.ssl) !== 1) {
      native.SSL_free(this.ssl);
      throw new EngineError("unusable", takeErrors());
    }
    opening.move();
    this.pollSet.add(this, WAIT.connection | WAIT.listenerFailed | WAIT.failed);
  }

  renew(settings: TlsSettings): void {
    // Checked first: a listener that has taken over only a part of the settings could accept nobody.
    TlsContext.forClient(settings)[Symbol.dispose]();
    this.#context.load(settings);
  }

  ready(events: number): void {
    if ((events & WAIT.connection) !== 0) this.#accept();
    else this.close({ trouble: "network", detail: "the listener's socket failed" });
  }

  /** Closes all its connections, and frees what is native. */
  close(ending: { trouble: "closed" | "network"; detail: string }): void {
    if (this.ssl === ffi.NULL) return;
    for (const connection of [...this.connections]) connection.abandon();
    this.pollSet.remove(this);
    native.SSL_free(this.ssl);
    this.ssl = ffi.NULL;
    this.#context[Symbol.dispose]();
    this.engine.removeEndpoint(this);
    this.engine.pipe.eventJson(EVENT.closed, this.id, ending);
  }

  protected override get root(): ffi.Pointer {
    return this.ssl;
  }

  #accept(): void {
    for (;;) {
      const ssl = native.SSL_accept_connection(this.ssl, NO_BLOCK);
      if (ssl === ffi.NULL) break;
      const isFull = this.connections.size >= this.#settings.maxConnections;
      const options = { ...this.#settings, id: this.engine.nextId(), ssl, listener: this.id };
      const connection = new NativeConnection(this.engine, this, options);
      this.adopt(connection);
      // Anybody can begin a handshake: the one that takes longest is dropped.
      if (isFull) (this.oldestArriving() ?? connection).abandon(FULL);
    }
    native.ERR_clear_error();
  }
}

/** Sets the name that is sent to the server (SNI) and that its certificate must have. */
function setServerName(ssl: ffi.Pointer, name: string): void {
  const text = ffi.fixedText(name);
  const parameters = native.SSL_get0_param(ssl);
  if (isIP(name) !== 0) {
    ffi.lend(text, (address) => native.X509_VERIFY_PARAM_set1_ip_asc(parameters, address));
    return;
  }
  ffi.lend(text, (address) => {
    native.SSL_ctrl(ssl, CTRL_SERVER_NAME, TLSEXT_HOST_NAME, address);
    native.X509_VERIFY_PARAM_set1_host(parameters, address, 0n);
  });
}

function offerAlpn(ssl: ffi.Pointer, { alpn }: TlsSettings): void {
  const name = Buffer.from(alpn);
  const list = ffi.fixedBuffer(name.length + 1);
  list[0] = name.length;
  name.copy(list, 1);
  ffi.lend(list, (address) => native.SSL_set_alpn_protos(ssl, address, list.length));
}

const IN = 1;
const OUT = 4;
const ITEM = 8;
const HAPPENED = 6;

/** Files that are waited for until one has something to read, or takes more to write. */
export class FileWatch {
  readonly #files = new Map<number, number>();

  awaitInput(fd: number): void {
    this.#files.set(fd, IN);
  }

  awaitRoom(fd: number): void {
    this.#files.set(fd, OUT);
  }

  /** The file may be closed already. */
  forget(fd: number): void {
    this.#files.delete(fd);
  }

  /** Waits at most so many milliseconds (-1: no limit). Returns the files that are ready. */
  wait(milliseconds: number): readonly number[] {
    const files = [...this.#files];
    const items = ffi.fixedBuffer(ITEM * files.length);
    for (const [index, [fd, events]] of files.entries()) {
      items.writeInt32LE(fd, index * ITEM);
      items.writeUInt16LE(events, index * ITEM + 4);
    }
    native.poll(ffi.addressOf(items), BigInt(files.length), milliseconds);
    const happened = (_: unknown, index: number): boolean =>
      items.readUInt16LE(index * ITEM + HAPPENED) !== 0;
    return files.filter(happened).map(([fd]) => fd);
  }
}
