import { EVENT } from "../control-frame.ts";
import type { DialSettings, ListenSettings, TlsSettings } from "../settings.ts";
import { isIP } from "node:net";
import {
  addressOf,
  fixedBuffer,
  fixedText,
  lend,
  NULL,
  pinnedBuffer,
  type Pointer,
} from "../../../base/process/ffi.ts";
import { EngineError, native, takeErrors } from "./native.ts";
import type { Engine } from "./engine.ts";
import { NativeConnection } from "./native-connection.ts";
import { PollSet, WAIT, type Waiting } from "./poll-set.ts";
import { TlsContext } from "./tls-context.ts";
import { bindSocket, connectSocket, withAddress } from "./udp-socket.ts";

const VALUE_IDLE_TIMEOUT = 5;
const CTRL_SERVER_NAME = 55;
const TLSEXT_HOST_NAME = 0n;
const NO_BLOCK = 1n;
/** Then the other endpoints have their turn. */
const MOST_TURNS = 8;
/**
 * Bytes that are read before the peer is told of the room they made. OpenSSL tells when a quarter of
 * a window is left at the latest, which is far more: a peer that waits for it is told in time.
 */
const WORTH_TELLING = 16 * 1024;
const timeout = pinnedBuffer(16);
const timeoutAddress = addressOf(timeout);
const isInfinite = pinnedBuffer(4);
const isInfiniteAddress = addressOf(isInfinite);

/** One UDP socket and the connections over it. */
export abstract class Endpoint {
  readonly pollSet = new PollSet();
  readonly connections = new Set<NativeConnection>();
  /** Those of them that begin or close, and go on with that at every turn. */
  readonly #unsettled = new Set<NativeConnection>();
  /** Those of them with streams that wait for the peer to take what it was sent. */
  readonly spending = new Set<NativeConnection>();
  readonly engine: Engine;
  abstract readonly fd: number;
  /** The time at which OpenSSL wants its turn without anything having come. */
  deadline = 0;
  #read = 0;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** The native object whose turn is that of all on this socket; NULL when there is none left. */
  protected abstract get root(): Pointer;

  /** Takes what came, tells of it, and sends what is due. */
  service(): void {
    let turns = 0;
    do {
      if (this.root === NULL) return;
      native.SSL_handle_events(this.root);
      // What goes on there is sent with the next turn.
      this.engine.needsTurn = this.#tidy();
      this.#read = 0;
      this.pollSet.settle();
      for (const connection of this.#unsettled) {
        connection.advance();
        if (connection.isOpen) this.#unsettled.delete(connection);
      }
      turns += 1;
    } while (this.engine.needsTurn && turns < MOST_TURNS);
    if (this.engine.needsTurn) this.engine.touch(this);
    this.#updateDeadline();
  }

  /** Bytes were read, which made room. */
  took(bytes: number): void {
    this.#read += bytes;
    if (this.#read >= WORTH_TELLING) this.engine.needsTurn = true;
  }

  drop(connection: NativeConnection): void {
    this.connections.delete(connection);
    this.#unsettled.delete(connection);
    this.spending.delete(connection);
    this.engine.connections.delete(connection.id);
    this.engine.connectionEnded();
  }

  /** Has a connection go on at every turn until it is open, or gone. */
  unsettle(connection: NativeConnection): void {
    this.#unsettled.add(connection);
  }

  /** The connection that has begun its handshake first, and not ended it; undefined if all have. */
  protected oldestArriving(): NativeConnection | undefined {
    return [...this.#unsettled].find((connection) => connection.isArriving);
  }

  protected adopt(connection: NativeConnection): void {
    this.connections.add(connection);
    this.unsettle(connection);
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
    if (this.root === NULL) return;
    native.SSL_get_event_timeout(this.root, timeoutAddress, isInfiniteAddress);
    if (isInfinite.readUInt32LE() !== 0) return;
    const seconds = Number(timeout.readBigUInt64LE(0));
    const microseconds = Number(timeout.readBigUInt64LE(8));
    if (seconds === 0 && microseconds === 0) this.engine.touch(this);
    this.deadline = this.engine.now + seconds * 1_000 + microseconds / 1_000;
  }
}

/** A connection that we dial has a socket of its own. */
export class ClientEndpoint extends Endpoint {
  readonly fd: number;
  #root: Pointer;

  constructor(engine: Engine, id: number, settings: DialSettings) {
    super(engine);
    using context = TlsContext.forClient(settings.tls);
    const socket = connectSocket(settings.host, settings.port);
    this.fd = socket.fd;
    const ssl = native.SSL_new(context.pointer);
    this.#root = ssl;
    // Which owns the socket from here on.
    native.SSL_set_bio(ssl, socket.bio, socket.bio);
    withAddress(settings.host, settings.port, (address) =>
      native.SSL_set1_initial_peer_addr(ssl, address),
    );
    setServerName(ssl, settings.serverName);
    offerAlpn(ssl, settings.tls);
    native.SSL_set_value_uint(ssl, 0, VALUE_IDLE_TIMEOUT, BigInt(settings.idleTimeout));
    this.adopt(new NativeConnection(engine, this, { ...settings, id, ssl, maxStreams: 0 }));
  }

  protected override get root(): Pointer {
    return this.#root;
  }

  override drop(connection: NativeConnection): void {
    super.drop(connection);
    this.#root = NULL;
    this.engine.removeEndpoint(this);
  }
}

const FULL = { trouble: "full", detail: "too many connections" } as const;

/** All connections that a listener took share its socket. */
export class ListenerEndpoint extends Endpoint implements Waiting {
  readonly id: number;
  readonly fd: number;
  readonly port: number;
  slot = -1;
  readonly #context: TlsContext;
  readonly #settings: ListenSettings;
  #ssl: Pointer;

  constructor(engine: Engine, id: number, settings: ListenSettings) {
    super(engine);
    this.id = id;
    this.#settings = settings;
    this.#context = TlsContext.forServer(settings.tls, settings.clientCertificate);
    try {
      const socket = bindSocket(settings.host, settings.port);
      this.fd = socket.fd;
      this.port = socket.port;
      this.#ssl = native.SSL_new_listener(this.#context.pointer, 0n);
      native.SSL_set_bio(this.#ssl, socket.bio, socket.bio);
      native.SSL_set_blocking_mode(this.#ssl, 0);
      if (native.SSL_listen(this.#ssl) !== 1) {
        native.SSL_free(this.#ssl);
        throw new EngineError("unusable", takeErrors());
      }
    } catch (error) {
      this.#context[Symbol.dispose]();
      throw error;
    }
    this.pollSet.add(this, WAIT.connection | WAIT.listenerFailed | WAIT.failed);
  }

  get ssl(): Pointer {
    return this.#ssl;
  }

  renew(settings: TlsSettings): void {
    // Tried first: half of it taken over would leave a listener that cannot let anybody in.
    TlsContext.forClient(settings)[Symbol.dispose]();
    this.#context.load(settings);
  }

  ready(events: number): void {
    if ((events & WAIT.connection) !== 0) this.#accept();
    else this.close({ trouble: "network", detail: "the listener's socket failed" });
  }

  /** Closes all its connections, and frees what is native. */
  close(ending: { trouble: "closed" | "network"; detail: string }): void {
    if (this.#ssl === NULL) return;
    for (const connection of [...this.connections]) connection.abandon();
    this.pollSet.remove(this);
    native.SSL_free(this.#ssl);
    this.#ssl = NULL;
    this.#context[Symbol.dispose]();
    this.engine.removeEndpoint(this);
    this.engine.eventJson(EVENT.closed, this.id, ending);
  }

  protected override get root(): Pointer {
    return this.#ssl;
  }

  #accept(): void {
    for (;;) {
      const ssl = native.SSL_accept_connection(this.#ssl, NO_BLOCK);
      if (ssl === NULL) break;
      const { maxConnections } = this.#settings;
      const isFull = this.connections.size >= maxConnections;
      const options = { ...this.#settings, id: this.engine.nextId(), ssl, listener: this.id };
      const connection = new NativeConnection(this.engine, this, options);
      this.adopt(connection);
      // Anybody can begin a handshake: who has taken longest makes room.
      if (isFull) (this.oldestArriving() ?? connection).abandon(FULL);
    }
    native.ERR_clear_error();
  }
}

/** Whom we expect: shown to the server, and checked against its certificate. */
function setServerName(ssl: Pointer, name: string): void {
  const text = fixedText(name);
  const parameters = native.SSL_get0_param(ssl);
  if (isIP(name) !== 0) {
    lend(text, (address) => native.X509_VERIFY_PARAM_set1_ip_asc(parameters, address));
    return;
  }
  lend(text, (address) => {
    native.SSL_ctrl(ssl, CTRL_SERVER_NAME, TLSEXT_HOST_NAME, address);
    native.X509_VERIFY_PARAM_set1_host(parameters, address, 0n);
  });
}

function offerAlpn(ssl: Pointer, { alpn }: TlsSettings): void {
  const name = Buffer.from(alpn);
  const list = fixedBuffer(name.length + 1);
  list[0] = name.length;
  name.copy(list, 1);
  lend(list, (address) => native.SSL_set_alpn_protos(ssl, address, list.length));
}
