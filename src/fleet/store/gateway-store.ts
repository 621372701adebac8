import { TrunklineError } from "../../base/errors.ts";
import type { StoredEvent } from "../../session/event.ts";
import type { Appended, HeldSession, SessionRecord, SessionStore } from "../../session/store.ts";
import { HeldElsewhere } from "../../store/session/held-elsewhere.ts";
import type { Queued } from "../members/placer.ts";
import { liveHolder, recordOf, type SessionEntry } from "../ownership/session-entry.ts";
import { FleetReader } from "./fleet-reader.ts";
import { readEvents } from "./read-events.ts";
import { FleetStore, type FleetStoreOptions } from "./fleet-store.ts";
import type { SessionMirror } from "./session-mirror.ts";
import { type SessionStreams, openSessionStreams } from "./session-streams.ts";

export interface GatewayStoreOptions extends FleetStoreOptions {
  /**
   * Chooses the worker that opens a session which no live process holds. Returns the id of its process.
   * `lost` is the dead process that held it.
   */
  readonly place: (
    record: SessionRecord,
    lost: string | undefined,
    signal?: AbortSignal,
    queued?: Queued,
  ) => Promise<string>;
}

/** The sessions of a fleet, as a gateway sees them. Workers hold them all. */
export class GatewayStore extends FleetStore implements SessionStore, AsyncDisposable {
  readonly #options: GatewayStoreOptions;
  /** A copy of all sessions, for lists. */
  readonly mirror: SessionMirror;

  private constructor(
    options: GatewayStoreOptions,
    streams: SessionStreams,
    mirror: SessionMirror,
  ) {
    super(streams, options.isAlive);
    this.#options = options;
    this.mirror = mirror;
  }

  static async open(options: GatewayStoreOptions): Promise<GatewayStore> {
    using opening = new DisposableStack();
    const streams = opening.use(await openSessionStreams(options));
    const mirror = await streams.openMirror(options);
    opening.move();
    return new GatewayStore(options, streams, mirror);
  }

  async create(): Promise<HeldSession> {
    throw workersOnly("create sessions");
  }

  async fork(): Promise<HeldSession> {
    throw workersOnly("fork sessions");
  }

  /** Throws "conflict" with the process that holds the session, or that is to take it. */
  async hold(id: string): Promise<HeldSession> {
    const entry = await this.need(id);
    if (entry.deleted !== undefined) {
      throw new TrunklineError("closed", `Session '${id}' was deleted.`);
    }
    const holder = liveHolder(entry, this.isAlive);
    if (holder !== undefined) throw new HeldElsewhere(id, holder, `node ${entry.node}`);
    throw new HeldElsewhere(id, await this.#place(entry), "a worker that was chosen for it");
  }

  /** The process that holds the session, or that is to take it; undefined if it does not exist. */
  async homeOf(id: string, signal: AbortSignal, queued?: Queued): Promise<string | undefined> {
    const entry = await this.streams.find(id);
    if (entry === undefined || entry.deleted !== undefined) return undefined;
    return liveHolder(entry, this.isAlive) ?? (await this.#place(entry, signal, queued));
  }

  protected override async openMirror(): Promise<SessionMirror> {
    return this.mirror;
  }

  async release(): Promise<void> {}

  append(): Appended {
    const failure = workersOnly("store events");
    const stored = Promise.reject(failure);
    stored.catch(() => {});
    return { last: 0, stored, failure };
  }

  async describe(): Promise<void> {
    throw workersOnly("change sessions");
  }

  read(id: string, after = 0): AsyncIterable<readonly StoredEvent[]> {
    return readEvents(this.streams, id, after);
  }

  /** Opens the sessions for a dashboard. `onMembers` calls back when other processes may be alive. */
  openReader(onMembers: (listener: () => void) => () => void): Promise<FleetReader> {
    const { streams, mirror, isAlive } = this;
    return FleetReader.open({ streams, mirror, isAlive, onMembers });
  }

  async delete(): Promise<void> {
    throw workersOnly("delete sessions");
  }

  #place(entry: SessionEntry, signal?: AbortSignal, queued?: Queued): Promise<string> {
    const record = recordOf(entry, this.isAlive);
    return this.#options.place(record, entry.holder, signal, queued);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.mirror[Symbol.asyncDispose]();
    this.streams[Symbol.dispose]();
  }
}

function workersOnly(what: string): TrunklineError {
  const next = "A worker of its pool does";
  return new TrunklineError("unavailable", `A gateway of a fleet does not ${what}. ${next}.`);
}
