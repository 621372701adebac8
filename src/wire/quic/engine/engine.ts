import { COMMAND, EVENT, FIRST, LAST } from "../control-frame.ts";
import type { DialSettings, Ending, ListenSettings, TlsSettings } from "../settings.ts";
import { ControlPipe } from "./control-pipe.ts";
import { ClientEndpoint, type Endpoint, ListenerEndpoint } from "./endpoint.ts";
import { EngineError } from "./engine-error.ts";
import type { NativeConnection } from "./native-connection.ts";
import type { NativeStream } from "./native-stream.ts";
import { PollList } from "./poll-list.ts";

const POLL_IN = 1;
const POLL_OUT = 4;
const DOOM: Ending = { trouble: "limit", detail: "too many exchanges were broken off" };
/** Those two come first among what is polled. */
const PIPES = 2;

/**
 * The loop of the process that runs native code: waits for the sockets, the program and the next
 * deadline in one call, then serves whoever has something to do.
 */
export class Engine {
  readonly pipe = new ControlPipe();
  readonly streams = new Map<number, NativeStream>();
  readonly connections = new Map<number, NativeConnection>();
  /** Connections to be cut at the end of the turn. */
  readonly doomed = new Set<NativeConnection>();
  /** The time of this turn, in milliseconds. */
  now = performance.now();
  /** Something was done in this turn of an endpoint that takes another one. */
  needsTurn = false;
  readonly #endpoints: Endpoint[] = [];
  readonly #listeners = new Map<number, ListenerEndpoint>();
  readonly #touched = new Set<Endpoint>();
  readonly #starved = new Set<Endpoint>();
  readonly #polled = new PollList();
  #nextCheck = Infinity;
  #lastId = 1;

  /** Runs until the program is gone. */
  run(): void {
    for (;;) {
      this.#wait();
      this.now = performance.now();
      // First, since commands change which endpoints there are.
      for (let index = 0; index < this.#endpoints.length; index++) {
        const endpoint = this.#endpoints[index] as Endpoint;
        const hasInput = this.#polled.happened(PIPES + index);
        if (hasInput || endpoint.deadline <= this.now) this.#touched.add(endpoint);
      }
      if (this.#polled.happened(0) && !this.pipe.read(this.#command)) break;
      if (this.now >= this.#nextCheck) this.#check();
      this.#serve();
      for (const connection of this.doomed) connection.abandon(DOOM);
      this.doomed.clear();
      this.pipe.flush();
      if (!this.pipe.isFull && this.#starved.size > 0) {
        for (const endpoint of this.#starved) this.#touched.add(endpoint);
        this.#starved.clear();
      }
    }
    for (const connection of [...this.connections.values()]) connection.abandon();
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
    const index = this.#endpoints.indexOf(endpoint);
    if (index >= 0) this.#endpoints.splice(index, 1);
    this.#touched.delete(endpoint);
    this.#starved.delete(endpoint);
  }

  eventJson(kind: number, id: number, value: object): void {
    this.pipe.eventJson(kind, id, value);
  }

  #wait(): void {
    let deadline = this.#nextCheck;
    this.#polled.set(0, this.pipe.inputFd, POLL_IN);
    this.#polled.set(1, this.pipe.hasOutput ? this.pipe.outputFd : -1, POLL_OUT);
    for (let index = 0; index < this.#endpoints.length; index++) {
      const endpoint = this.#endpoints[index] as Endpoint;
      this.#polled.set(PIPES + index, endpoint.fd, POLL_IN);
      if (endpoint.deadline < deadline) deadline = endpoint.deadline;
    }
    const wait = this.#touched.size > 0 ? 0 : Math.ceil(deadline - performance.now());
    const milliseconds = wait === Infinity ? -1 : Math.max(0, wait);
    this.#polled.wait(PIPES + this.#endpoints.length, milliseconds);
  }

  #serve(): void {
    const touched = [...this.#touched];
    // Who is not done with its turn is touched anew, for the next one.
    this.#touched.clear();
    for (const endpoint of touched) endpoint.service();
  }

  #check(): void {
    this.#nextCheck = Infinity;
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
    connection.open(id).write(payload.subarray(4), isLast);
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
    this.#endpoints.push(endpoint);
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
