import type { Log } from "../../base/log.ts";
import type { SessionRecord } from "../../session/store.ts";
import {
  liveHolder,
  recordOf,
  type SessionEntry,
  sessionNotFound,
} from "../ownership/session-entry.ts";
import type { ListOptions, SessionMirror } from "./session-mirror.ts";
import type { SessionStreams, SessionStreamsOptions } from "./session-streams.ts";

export interface FleetStoreOptions extends SessionStreamsOptions {
  /** Whether a process that holds sessions seems alive. */
  readonly isAlive: (holder: string) => boolean;
  readonly log: Log;
}

/** The sessions of a fleet: what gateways and workers both read of them. */
export abstract class FleetStore {
  protected readonly streams: SessionStreams;
  protected readonly isAlive: (holder: string) => boolean;

  protected constructor(streams: SessionStreams, isAlive: (holder: string) => boolean) {
    this.streams = streams;
    this.isAlive = isAlive;
  }

  /** A copy of all sessions, for lists. */
  protected abstract openMirror(): Promise<SessionMirror>;

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
    return await (await this.openMirror()).list(options);
  }

  async openOf(owner: string): Promise<string[]> {
    return await (await this.openMirror()).openOf(owner);
  }

  protected async need(id: string): Promise<SessionEntry> {
    const entry = await this.streams.find(id);
    if (entry !== undefined) return entry;
    throw sessionNotFound(id);
  }
}
