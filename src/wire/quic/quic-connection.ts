import { background } from "../../base/background.ts";
import type { Connection, ConnectionLimits, PeerCertificate } from "./connection.ts";
import { ConnectionError } from "./connection-error.ts";
import { HeldBytes } from "./stream/held-bytes.ts";
import type { EngineSession } from "./engine-session.ts";
import { readPeerCertificate } from "./peer-certificate.ts";
import { WRITE_WINDOW } from "./control-frame.ts";
import { MultiplexedStream, type StreamOwner } from "./stream/multiplexed-stream.ts";
import type { Connected, Ending } from "./settings.ts";

/**
 * A stream that breaks while the peer sends permanently uses up part of the connection's flow control
 * window: OpenSSL does not give the bytes back that it drops (RFC 9000 § 4.5 says how it could).
 */
const BROKEN_WEAR = 250;

/** A connection whose native half is in the engine. */
export class QuicConnection implements Connection, StreamOwner {
  readonly id: number;
  readonly writeWindow = WRITE_WINDOW;
  readonly address: string;
  readonly held: HeldBytes;
  /** Resolves when the handshake is done, fails when it is refused. */
  readonly opened: Promise<this>;
  readonly #opened = Promise.withResolvers<this>();
  readonly #closed = Promise.withResolvers<ConnectionError>();
  readonly #session: EngineSession;
  readonly #streams = new Map<number, MultiplexedStream>();
  #certificate: Buffer | undefined;
  #peer: PeerCertificate | undefined;
  #isDraining = false;
  #isQuiet = false;
  #whenQuiet: () => void = () => {};
  #wear = 0;
  #state: "opening" | "open" | "closing" | "over" = "opening";
  #ending: Ending = { trouble: "closed", detail: "" };

  constructor(
    session: EngineSession,
    id: number,
    address: string,
    limits: ConnectionLimits,
    held: HeldBytes = new HeldBytes(limits.maxHeld),
  ) {
    this.id = id;
    this.address = address;
    this.held = held;
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

  get openStreams(): number {
    return this.#streams.size;
  }

  get wear(): number {
    return this.#wear;
  }

  get isClosed(): boolean {
    return this.#isDraining || this.#state === "closing" || this.#state === "over";
  }

  get closed(): Promise<ConnectionError> {
    return this.#closed.promise;
  }

  get isQuiet(): boolean {
    return this.#isQuiet;
  }

  watchQuiet(quiet: () => void): void {
    this.#whenQuiet = quiet;
  }

  giveUp(): void {
    this.#session.sendClose(this.id, 0, "");
    this.end({ trouble: "silent", detail: "it is out of reach, and was found another way" });
  }

  openStream(): MultiplexedStream {
    this.#wear += 1;
    const stream = this.#add(this.#session.nextId(), false);
    if (this.isClosed) stream.fail(this.#trouble("open a stream", this.#ending));
    return stream;
  }

  /** The peer opened a stream. */
  acceptStream(id: number): MultiplexedStream {
    return this.#add(id, true);
  }

  async drain(): Promise<void> {
    this.#isDraining = true;
    if (this.#streams.size === 0) await this.close();
    await this.#closed.promise;
  }

  async close(code = 0, reason = ""): Promise<void> {
    if (this.#state === "opening" || this.#state === "open") {
      this.#state = "closing";
      this.#session.sendClose(this.id, code, reason);
      this.#failStreams(this.#trouble("continue", this.#ending));
    }
    await this.#closed.promise;
  }

  /** Gives up a connection that is not there yet. */
  cancel(): void {
    this.#session.sendClose(this.id, 0, "");
    this.end({ trouble: "cancelled", detail: "it was cancelled on this side" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  connected({ certificate }: Connected): void {
    if (this.#state !== "opening") return;
    this.#state = "open";
    if (certificate !== undefined) this.#certificate = Buffer.from(certificate, "base64");
    this.#opened.resolve(this);
  }

  /** The engine's word: whether the peer acknowledges what it is sent. */
  heard(isHeard: boolean): void {
    this.#isQuiet = !isHeard;
    if (this.#isQuiet) this.#whenQuiet();
  }

  /** The engine's word, or that the engine is gone. */
  end(ending: Ending): void {
    if (this.#state === "over") return;
    const what = this.#state === "opening" ? `connect` : `continue`;
    const error = this.#trouble(what, ending);
    this.#state = "over";
    this.#ending = ending;
    this.#opened.reject(error);
    this.#failStreams(error);
    this.#closed.resolve(error);
  }

  forget(stream: MultiplexedStream, isBroken: boolean): void {
    if (isBroken) this.#wear += BROKEN_WEAR;
    this.#streams.delete(stream.id);
    this.#session.streams.delete(stream.id);
    if (this.#isDraining && this.#streams.size === 0)
      background(this.close(), "Closing a connection");
  }

  /** Gives up requests that the peer left unfinished. Called at intervals. */
  dropStale(): void {
    for (const stream of this.#streams.values()) {
      if (!stream.isStale()) continue;
      const message = `Cannot wait longer for a request of ${this.peer?.name ?? "a client"}: it stays unfinished.`;
      stream.breakOff(new ConnectionError("timeout", message));
    }
  }

  #add(id: number, isOpened: boolean): MultiplexedStream {
    const stream = new MultiplexedStream(this.#session, this, id, isOpened);
    this.#streams.set(stream.id, stream);
    this.#session.streams.set(stream.id, stream);
    return stream;
  }

  #failStreams(error: ConnectionError): void {
    for (const stream of this.#streams.values()) stream.fail(error);
  }

  #trouble(what: string, ending: Ending): ConnectionError {
    const how = what === "connect" ? `connect to ${this.address}` : `${what} with ${this.address}`;
    return ConnectionError.of(`Cannot ${how}`, ending);
  }
}
