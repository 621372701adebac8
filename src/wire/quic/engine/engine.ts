import { COMMAND, EVENT, FIRST, LAST } from "../control-frame.ts";
import type { DialSettings, Ending, ListenSettings, TlsSettings } from "../settings.ts";
import { ControlPipe } from "./control-pipe.ts";
import { ClientEndpoint, type Endpoint, ListenerEndpoint } from "./endpoint.ts";
import { EngineError, giveBackFreed } from "./native.ts";
import { FileWatch } from "./file-watch.ts";
import type { NativeConnection } from "./native-connection.ts";
import type { NativeStream } from "./native-stream.ts";
import { SendLoad } from "./send-window.ts";

const READS_NOTHING: Ending = { trouble: "limit", detail: "it does not take what it is sent" };
/**
 * Milliseconds that a deadline may be missed by, so that in a busy engine it is met when something
 * comes anyway. What falls due is mostly an acknowledgement, and each would wake two engines.
 */
const SLACK = 5;

/** Connections that have to end before it is worth it, and milliseconds after that. */
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
  /** How much is to be sent, by whom it is for. */
  readonly load = new SendLoad((connection) => this.doom(connection, READS_NOTHING));
  /** The time of this turn, in milliseconds. */
  now = performance.now();
  /** Something was done in this turn of an endpoint that takes another one. */
  needsTurn = false;
  /** By their socket. */
  readonly #endpoints = new Map<number, Endpoint>();
  readonly #listeners = new Map<number, ListenerEndpoint>();
  readonly #touched = new Set<Endpoint>();
  readonly #starved = new Set<Endpoint>();
  /** Connections to be cut at the end of the turn. */
  readonly #doomed = new Map<NativeConnection, Ending>();
  readonly #files = new FileWatch();
  #awaitsRoom = false;
  #isWanted = true;
  #nextCheck = Infinity;
  /** Connections that have ended since memory was given back, and when that is due. */
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
      for (const [connection, ending] of this.#doomed) connection.abandon(ending);
      this.#doomed.clear();
      this.pipe.flush();
      if (!this.pipe.isFull && this.#starved.size > 0) {
        for (const endpoint of this.#starved) this.#touched.add(endpoint);
        this.#starved.clear();
      }
    } while (this.#isWanted);
    for (const connection of [...this.connections.values()]) connection.abandon();
  }

  /** Has a connection cut at the end of the turn. */
  doom(connection: NativeConnection, ending: Ending): void {
    this.#doomed.set(connection, ending);
  }

  /** Has an endpoint served in this turn. */
  touch(endpoint: Endpoint): void {
    this.#touched.add(endpoint);
  }

  /** Has an endpoint served once the program has read what it was told. */
  starve(endpoint: Endpoint): void {
    this.#starved.add(endpoint);
  }

  /** Odd, so that it is none of the program's, which are even. */
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
    this.#touched.delete(endpoint);
    this.#starved.delete(endpoint);
  }

  eventJson(kind: number, id: number, value: object): void {
    this.pipe.eventJson(kind, id, value);
  }

  #wait(): void {
    const ready = this.#files.wait(this.#patience());
    this.now = performance.now();
    // Deadlines and sockets first, since commands change which endpoints there are.
    for (const endpoint of this.#endpoints.values()) {
      if (endpoint.deadline <= this.now) this.#touched.add(endpoint);
    }
    for (const fd of ready) {
      const endpoint = this.#endpoints.get(fd);
      if (endpoint !== undefined) this.#touched.add(endpoint);
    }
    if (ready.includes(this.pipe.inputFd)) this.#isWanted = this.pipe.read(this.#command);
  }

  /** Milliseconds to wait when nothing comes. */
  #patience(): number {
    this.#awaitRoom();
    if (this.#touched.size > 0) return 0;
    let deadline = this.#nextCheck;
    for (const endpoint of this.#endpoints.values()) {
      if (endpoint.deadline + SLACK < deadline) deadline = endpoint.deadline + SLACK;
    }
    if (deadline === Infinity) return -1;
    return Math.max(0, Math.ceil(deadline - performance.now()));
  }

  #awaitRoom(): void {
    const { hasOutput, outputFd } = this.pipe;
    if (hasOutput === this.#awaitsRoom) return;
    this.#awaitsRoom = hasOutput;
    if (hasOutput) this.#files.awaitRoom(outputFd);
    else this.#files.forget(outputFd);
  }

  #serve(): void {
    const touched = [...this.#touched];
    // Who is not done with its turn is touched anew, for the next one.
    this.#touched.clear();
    for (const endpoint of touched) endpoint.service();
  }

  /** What it held is given back to the system soon, with that of others that end meanwhile. */
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
          const settings = JSON.parse(payload.toString()) as DialSettings;
          this.#add(new ClientEndpoint(this, id, settings));
        });
      case COMMAND.listen:
        return this.#try(id, () => {
          const settings = JSON.parse(payload.toString()) as ListenSettings;
          const listener = new ListenerEndpoint(this, id, settings);
          this.#listeners.set(id, listener);
          this.#add(listener);
          this.eventJson(EVENT.listening, id, { port: listener.port });
        });
      case COMMAND.renew:
        return this.#renew(id, JSON.parse(payload.toString()) as TlsSettings);
      case COMMAND.close:
        return this.#close(id, payload);
    }
  };

  #write(flags: number, id: number, payload: Buffer): void {
    const isLast = (flags & LAST) !== 0;
    if ((flags & FIRST) === 0) {
      this.#onStream(id, (stream) => stream.write(payload, isLast));
      return;
    }
    const connection = this.connections.get(payload.readUInt32LE());
    // One that is over has told so, and the program knows what that means for the stream.
    if (connection === undefined || connection.isEnding) return;
    const stream = connection.open(id);
    // It may turn out to be over only now: what is written then would count as unsent for ever.
    if (connection.isEnding) return;
    stream.write(payload.subarray(4), isLast);
    this.#touched.add(connection.endpoint);
  }

  #onStream(id: number, act: (stream: NativeStream) => void): void {
    const stream = this.streams.get(id);
    // It may have ended while the command was on its way.
    if (stream === undefined) return;
    this.#touched.add(stream.endpoint);
    act(stream);
  }

  #close(id: number, payload: Buffer): void {
    const connection = this.connections.get(id);
    if (connection !== undefined) {
      this.#touched.add(connection.endpoint);
      connection.close(payload.readUInt32LE(), payload.toString("utf8", 4));
      return;
    }
    this.#listeners.get(id)?.close({ trouble: "closed", detail: "" });
    this.#listeners.delete(id);
  }

  #renew(id: number, settings: TlsSettings): void {
    try {
      this.#listeners.get(id)?.renew(settings);
      this.eventJson(EVENT.renewed, id, {});
    } catch (error) {
      this.eventJson(EVENT.renewed, id, { problem: endingOfError(error) });
    }
  }

  #add(endpoint: Endpoint): void {
    this.#endpoints.set(endpoint.fd, endpoint);
    this.#files.awaitInput(endpoint.fd);
    this.#touched.add(endpoint);
  }

  #try(id: number, act: () => void): void {
    try {
      act();
    } catch (error) {
      this.eventJson(EVENT.closed, id, endingOfError(error));
    }
  }
}

function endingOfError(error: unknown): Ending {
  if (!(error instanceof EngineError)) throw error;
  return { trouble: error.trouble, detail: error.message };
}
