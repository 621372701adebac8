import type { Log } from "../../base/log.ts";
import type { SessionRecord } from "../../session/store.ts";
import {
  liveHolder,
  recordOf,
  type SessionEntry,
  sessionNotFound,
} from "../ownership/session-entry.ts";
import type { ListOptions, SessionMirror } from "./session-mirror.ts";
import type { FleetConnection } from "../connection/connect.ts";
import type { SessionStreams } from "./session-streams.ts";

export interface FleetStoreOptions {
  readonly connection: FleetConnection;
  /** Whether a process that holds sessions seems alive. */
  readonly isAlive: (holder: string) => boolean;
  readonly log: Log;
}

/** The sessions of a fleet: what gateways and workers both read of them. */
export abstract class FleetStore implements AsyncDisposable {
  protected readonly streams: SessionStreams;
  protected readonly isAlive: (holder: string) => boolean;
  readonly #log: Log;
  #mirror: SessionMirror | undefined;

  protected constructor(
    streams: SessionStreams,
    { isAlive, log }: Omit<FleetStoreOptions, "connection">,
  ) {
    this.streams = streams;
    this.isAlive = isAlive;
    this.#log = log;
  }

  /** A copy of all sessions, for lists, from its first use on. */
  get mirror(): SessionMirror {
    return (this.#mirror ??= this.streams.openMirror({ isAlive: this.isAlive, log: this.#log }));
  }

  /** The id of the live process that has a session open; undefined if none has. */
  async holderOf(id: string): Promise<string | undefined> {
    return liveHolder(await this.need(id), this.isAlive);
  }

  // Not from the mirror: the client may come from another gateway, and be faster than a change.
  async find(id: string): Promise<SessionRecord | undefined> {
    const entry = await this.streams.find(id);
    return entry && recordOf(entry, this.isAlive);
  }

  async list(options: ListOptions = {}): Promise<SessionRecord[]> {
    return await this.mirror.list(options);
  }

  async openOf(owner: string): Promise<string[]> {
    return await this.mirror.openOf(owner);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#mirror?.[Symbol.asyncDispose]();
    this.streams[Symbol.dispose]();
  }

  protected async need(id: string): Promise<SessionEntry> {
    const entry = await this.streams.find(id);
    if (entry !== undefined) return entry;
    throw sessionNotFound(id);
  }
}
