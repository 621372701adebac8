import { untilAborted } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { HeldSession, SessionRecord, SessionStore, StoredEvent } from "../../session/store.ts";
import { HeldElsewhereError } from "../../store/session/session-log.ts";
import { READ } from "../../store/session/session-pages.ts";
import {
  RECENT,
  type ReadSession,
  type SessionReading,
} from "../../store/session/session-reader.ts";
import type { QueueListener } from "../members/placer.ts";
import {
  liveHolder,
  recordOf,
  sessionDeleted,
  type SessionEntry,
} from "../ownership/session-entry.ts";
import { FleetStore, type FleetStoreOptions } from "./fleet-store.ts";
import { type EventPage, readEvents, readPages } from "./read-events.ts";
import type { SessionMirror } from "./session-mirror.ts";
import { openSessionStreams, type SessionStreams } from "./session-streams.ts";

export interface GatewayStoreOptions extends FleetStoreOptions {
  /**
   * Chooses the worker that opens a session which no live process holds. Returns the id of its process.
   * `lost` is the dead process that held it.
   */
  readonly place: (
    record: SessionRecord,
    lost: string | undefined,
    signal?: AbortSignal,
    queued?: QueueListener,
  ) => Promise<string>;
}

/** The sessions of a fleet, as a gateway sees them. Workers hold them all. */
export class GatewayStore extends FleetStore implements SessionStore, AsyncDisposable {
  readonly #options: GatewayStoreOptions;
  readonly create = workersOnly("create sessions");
  readonly fork = workersOnly("fork sessions");
  readonly describe = workersOnly("change sessions");
  readonly delete = workersOnly("delete sessions");

  private constructor(options: GatewayStoreOptions, streams: SessionStreams) {
    super(streams, options);
    this.#options = options;
  }

  static async open(options: GatewayStoreOptions): Promise<GatewayStore> {
    return new GatewayStore(options, await openSessionStreams(options.connection));
  }

  /** Throws "conflict" with the process that holds the session, or that is to take it. */
  async hold(id: string): Promise<HeldSession> {
    const entry = await this.need(id);
    if (entry.deleted !== undefined) throw sessionDeleted(id);
    const holder = liveHolder(entry, this.isAlive);
    if (holder !== undefined) throw new HeldElsewhereError(id, holder, `node ${entry.node}`);
    throw new HeldElsewhereError(id, await this.#place(entry), "a worker that was chosen for it");
  }

  /** The process that holds the session, or that is to take it; undefined if it does not exist. */
  async homeOf(
    id: string,
    signal: AbortSignal,
    queued?: QueueListener,
  ): Promise<string | undefined> {
    const entry = await this.streams.find(id);
    if (entry === undefined || entry.deleted !== undefined) return undefined;
    return liveHolder(entry, this.isAlive) ?? (await this.#place(entry, signal, queued));
  }

  async release(): Promise<void> {}

  /** Nobody has a session open here. */
  append(): never {
    throw refusal("store events");
  }

  read(id: string, after = 0): AsyncIterable<readonly StoredEvent[]> {
    return readEvents(this.streams, id, after);
  }

  /** Opens the sessions for a dashboard. `onMembers` calls back when other processes may be alive. */
  openReader(onMembers: (listener: () => void) => () => void): Promise<SessionReading> {
    const { streams, mirror, isAlive } = this;
    return openFleetReader({ streams, mirror, isAlive, onMembers });
  }

  #place(entry: SessionEntry, signal?: AbortSignal, queued?: QueueListener): Promise<string> {
    const record = recordOf(entry, this.isAlive);
    return this.#options.place(record, entry.holder, signal, queued);
  }
}

function workersOnly(what: string): () => Promise<never> {
  return () => Promise.reject(refusal(what));
}

function refusal(what: string): TrunklineError {
  const next = "A worker of its pool does";
  return new TrunklineError("unavailable", `A gateway of a fleet does not ${what}. ${next}.`);
}

/** Milliseconds until the last events of all sessions must be known. */
const PATIENCE = 10_000;
/** Milliseconds between two answers that something has changed: each makes NATS read events. */
const PAUSE = 250;
/** Sessions with new events that are remembered, beside those that are open. */
const MOST_TOUCHED = 1_000;

interface FleetReaderOptions {
  readonly streams: Pick<SessionStreams, "find" | "last" | "journal" | "connection">;
  readonly mirror: SessionMirror;
  readonly isAlive: (holder: string) => boolean;
  /** Calls back when other processes may be alive than before. Returns how to stop that. */
  readonly onMembers: (listener: () => void) => () => void;
}

/** Reads the sessions of a fleet, which its workers write. */
async function openFleetReader(options: FleetReaderOptions): Promise<SessionReading> {
  const { streams, mirror, isAlive, onMembers } = options;
  /** Numbers of the last events. */
  const lasts = new Map<string, number>();
  /** Sessions that got events, with the change by which they did, the latest last. */
  const touched = new Map<string, number>();
  let changes = 0;
  let answered = -Infinity;

  const sessionOf = (entry: SessionEntry): ReadSession => {
    const { id, cwd, agent, title, created, updated, parent, notes } = entry.record;
    const holder = liveHolder(entry, isAlive);
    const last = lasts.get(id) ?? 0;
    return { id, cwd, agent, title, created, updated, parent, notes, last, holder };
  };

  const heldNow = (): ReadSession[] => mirror.held().map(sessionOf);

  async function* pagesOf(id: string, after: number, upTo?: number): AsyncGenerator<EventPage> {
    const entry = await streams.find(id);
    if (entry !== undefined) yield* readPages(streams, entry, after, upTo);
  }

  const heard = (id: string, last: number): void => {
    changes++;
    lasts.set(id, last);
    touched.delete(id);
    touched.set(id, changes);
    if (touched.size <= MOST_TOUCHED) return;
    const [oldest = id] = touched.keys();
    touched.delete(oldest);
  };

  const ends = new DisposableStack();
  const changed = mirror.onChange(({ id, now }) => {
    changes++;
    if (now === undefined) lasts.delete(id);
  });
  ends.defer(changed);
  ends.defer(onMembers(() => changes++));
  const following = streams.journal.follow(heard);
  ends.defer(() =>
    background(following[Symbol.asyncDispose](), "Ending the readers of session events"),
  );
  try {
    await untilAborted(following.known, AbortSignal.timeout(PATIENCE));
  } catch {
    ends.dispose();
    const why = `NATS did not send the last events of the sessions within ${PATIENCE / 1000} seconds`;
    throw new TrunklineError("unavailable", `${why}. Try again later.`);
  }

  return {
    async list({ owner, after, limit, runsOnly = false }) {
      await mirror.caughtUp();
      const accepts = ({ record }: SessionEntry): boolean =>
        !runsOnly || record.notes.run !== undefined;
      return mirror.entries({ owner, after, limit, accepts }).map(sessionOf);
    },

    async held() {
      await mirror.caughtUp();
      return heldNow();
    },

    async find(id) {
      const entry = await streams.find(id);
      if (entry === undefined || entry.deleted !== undefined) return undefined;
      if (!lasts.has(id)) {
        const last = await streams.last(id);
        if (last !== undefined) lasts.set(id, Math.max(last.last, lasts.get(id) ?? 0));
      }
      return sessionOf(entry);
    },

    async events(id, from, limit) {
      const events: StoredEvent[] = [];
      let read = 0;
      for await (const page of pagesOf(id, from - 1)) {
        events.push(...page.events);
        read += page.size;
        if (events.length >= limit || read >= READ) break;
      }
      return events.slice(0, limit);
    },

    async eventsBefore(id, before, limit) {
      const pages: EventPage[] = [];
      let read = 0;
      for await (const page of pagesOf(id, Math.max(0, before - 1 - limit), before - 1)) {
        pages.push(page);
        read += page.size;
        // The last ones are wanted, and not more than fit.
        while (read - (pages[0]?.size ?? 0) >= READ) read -= pages.shift()?.size ?? 0;
      }
      return pages.flatMap(({ events }) => events);
    },

    mark: async () => ({ version: changes, page: changes }),

    async changed(since) {
      const now = performance.now();
      if (since.version === changes) return undefined;
      if (since.version >= 0 && now - answered < PAUSE) return undefined;
      answered = now;
      const mark = { version: changes, page: changes };
      const found = new Map(heldNow().map((session) => [session.id, session]));
      for (const [id, change] of touched) {
        const entry = change <= since.page || found.has(id) ? undefined : mirror.get(id);
        if (entry !== undefined) found.set(id, sessionOf(entry));
      }
      for (const entry of mirror.entries({ limit: RECENT })) {
        found.set(entry.record.id, sessionOf(entry));
      }
      return { mark, sessions: [...found.values()] };
    },

    [Symbol.dispose]: () => ends.dispose(),
  };
}
