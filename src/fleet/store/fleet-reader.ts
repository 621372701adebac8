import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { untilAborted } from "../../base/until-aborted.ts";
import { eventsIn, type LoggedEvent, READ } from "../../store/session/session-pages.ts";
import {
  type ListRequest,
  type Mark,
  type ReadSession,
  RECENT,
  type SessionReading,
} from "../../store/session/session-reader.ts";
import { eventPages } from "../ownership/event-pages.ts";
import type { Following, MessageHead } from "../ownership/journal.ts";
import { liveHolder, type SessionEntry } from "../ownership/session-entry.ts";
import type { SessionMirror } from "./session-mirror.ts";
import type { SessionStreams } from "./session-streams.ts";

/** Bytes of small messages that make up one entry, so that long sessions have few. */
const TOGETHER = 64 * 1024;

/** Consecutive messages of a session. */
interface Part {
  /** Numbers of events: the first one that begins here, and the last one that is complete. */
  readonly first: number;
  last: number;
  /** Sequences of the first message and the last one. */
  readonly from: number;
  to: number;
  size: number;
  /** The event goes on in the next part. */
  readonly more: boolean;
}

/** Messages to read, by sequence. */
interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** In which messages of a session an event is, so that reading it does not begin with the first one. */
export class EventIndex {
  /** The epoch in which the session was created. */
  readonly born: number;
  readonly #parts: Part[] = [];

  constructor(born: number) {
    this.born = born;
  }

  /** Adds the next message. One that it has already is ignored. */
  add({ epoch, sequence, first, last, size, more }: MessageHead): void {
    const before = this.#parts.at(-1);
    if (epoch < this.born || sequence <= (before?.to ?? 0)) return;
    if (before === undefined || before.more || more || before.size + size > TOGETHER) {
      this.#parts.push({ first, last, from: sequence, to: sequence, size, more });
      return;
    }
    before.last = last;
    before.to = sequence;
    before.size += size;
  }

  /** Where events from a number on are; undefined if there are none yet. */
  after(from: number): Stretch | undefined {
    const at = this.#placeOf(from);
    const part = this.#parts[this.#beginningOf(at)];
    const last = this.#parts.at(-1);
    return part && last && { from: part.from, to: last.to };
  }

  /** Where the last events before a number are: about `count`, or about so many bytes. */
  before(number: number, count: number, bytes: number): Stretch | undefined {
    const end = Math.min(this.#placeOf(number - 1), this.#parts.length - 1);
    let at = end;
    let size = 0;
    for (; at > 0; at--) {
      const part = this.#parts[at] as Part;
      size += part.size;
      if (part.first <= number - count || size >= bytes) break;
    }
    const [part, last] = [this.#parts[this.#beginningOf(at)], this.#parts[end]];
    return part && last && { from: part.from, to: last.to };
  }

  /** The first part with which an event is complete. */
  #placeOf(number: number): number {
    let low = 0;
    let high = this.#parts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#parts[middle] as Part).last < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The part in which the event begins that is complete with this one. */
  #beginningOf(at: number): number {
    let begin = at;
    while (this.#parts[begin - 1]?.more === true) begin--;
    return begin;
  }
}

/** Milliseconds until the last events of all sessions must be known. */
const PATIENCE = 10_000;
/** Milliseconds between two answers that something has changed: each makes NATS read events. */
const PAUSE = 250;
/** Sessions whose messages are known, so that their events are found. */
const MOST_INDEXES = 200;
/** Sessions with new events that are remembered, beside those that are open. */
const MOST_TOUCHED = 1_000;

interface FleetReaderOptions {
  readonly streams: Pick<SessionStreams, "find" | "last" | "journal">;
  readonly mirror: SessionMirror;
  readonly isAlive: (holder: string) => boolean;
  /** Calls back when other processes may be alive than before. Returns how to stop that. */
  readonly onMembers: (listener: () => void) => () => void;
}

/** Reads the sessions of a fleet, which its workers write. */
export class FleetReader implements SessionReading {
  readonly #options: FleetReaderOptions;
  readonly #following: Following;
  readonly #ends = new DisposableStack();
  /** Numbers of the last events. */
  readonly #lasts = new Map<string, number>();
  readonly #indexes = new Map<string, Promise<EventIndex | undefined>>();
  /** Messages that came while the index of their session was made. */
  readonly #missed = new Map<string, MessageHead[]>();
  /** Sessions that got events, with the change by which they did, the latest last. */
  readonly #touched = new Map<string, number>();
  #changes = 0;
  #answered = -Infinity;

  private constructor(options: FleetReaderOptions) {
    this.#options = options;
    const { mirror, onMembers, streams } = options;
    this.#ends.defer(
      mirror.onChange(({ id, now }) => {
        this.#changes++;
        if (now !== undefined) return;
        this.#indexes.delete(id);
        this.#lasts.delete(id);
      }),
    );
    this.#ends.defer(onMembers(() => this.#changes++));
    this.#following = streams.journal.follow({
      begun: () => {
        this.#indexes.clear();
        this.#missed.clear();
      },
      heard: (id, head) => this.#heard(id, head),
    });
  }

  static async open(options: FleetReaderOptions): Promise<FleetReader> {
    const reader = new FleetReader(options);
    const late = AbortSignal.timeout(PATIENCE);
    try {
      await untilAborted(reader.#following.known, late);
    } catch {
      reader[Symbol.dispose]();
      const why = `NATS did not tell the last events of sessions in ${PATIENCE / 1000} seconds`;
      throw new TrunklineError("unavailable", `${why}. Try again later.`);
    }
    return reader;
  }

  [Symbol.dispose](): void {
    this.#ends.dispose();
    background(this.#following[Symbol.asyncDispose](), "Ending to follow the events of sessions");
  }

  async list(request: ListRequest): Promise<ReadSession[]> {
    const { owner, after, limit, text, runsOnly = false } = request;
    await this.#options.mirror.caughtUp();
    const words = text?.toLowerCase();
    const accepts = ({ record: { title = "", cwd, agent, notes } }: SessionEntry): boolean => {
      if (runsOnly && notes.run === undefined) return false;
      if (words === undefined) return true;
      return [title, cwd, agent].some((each) => each.toLowerCase().includes(words));
    };
    const entries = this.#options.mirror.entries({ owner, after, limit, accepts });
    return entries.map((entry) => this.#sessionOf(entry));
  }

  async held(): Promise<ReadSession[]> {
    await this.#options.mirror.caughtUp();
    return this.#held();
  }

  async find(id: string): Promise<ReadSession | undefined> {
    const entry = await this.#options.streams.find(id);
    if (entry === undefined || entry.deleted !== undefined) return undefined;
    if (!this.#lasts.has(id)) {
      const last = await this.#options.streams.last(id);
      if (last !== undefined) this.#lasts.set(id, Math.max(last.last, this.#lasts.get(id) ?? 0));
    }
    return this.#sessionOf(entry);
  }

  async count(owner?: string): Promise<number> {
    await this.#options.mirror.caughtUp();
    return this.#options.mirror.count(owner);
  }

  async events(id: string, from: number, limit: number): Promise<LoggedEvent[]> {
    const index = await this.#indexOf(id);
    const events: LoggedEvent[] = [];
    let read = 0;
    for await (const page of this.#pages(id, index, index?.after(from))) {
      for (const event of eventsIn(page)) {
        if (event.seq >= from && events.length < limit) events.push(event);
      }
      read += page.length;
      if (events.length === limit || (events.length > 0 && read >= READ)) break;
    }
    return events;
  }

  async eventsBefore(id: string, before: number, limit: number): Promise<LoggedEvent[]> {
    const index = await this.#indexOf(id);
    const events: LoggedEvent[] = [];
    for await (const page of this.#pages(id, index, index?.before(before, limit, READ))) {
      for (const event of eventsIn(page)) if (event.seq < before) events.push(event);
    }
    return events.slice(-limit);
  }

  async mark(): Promise<Mark> {
    return { version: this.#changes, page: this.#changes };
  }

  async changed(since: Mark): Promise<{ mark: Mark; sessions: ReadSession[] } | undefined> {
    const now = performance.now();
    if (since.version === this.#changes) return undefined;
    if (since.version >= 0 && now - this.#answered < PAUSE) return undefined;
    this.#answered = now;
    const mark = await this.mark();
    const { mirror } = this.#options;
    const found = new Map(this.#held().map((session) => [session.id, session]));
    for (const [id, change] of this.#touched) {
      const entry = change <= since.page || found.has(id) ? undefined : mirror.get(id);
      if (entry !== undefined) found.set(id, this.#sessionOf(entry));
    }
    for (const entry of mirror.entries({ limit: RECENT })) {
      found.set(entry.record.id, this.#sessionOf(entry));
    }
    return { mark, sessions: [...found.values()] };
  }

  #held(): ReadSession[] {
    return this.#options.mirror.held().map((entry) => this.#sessionOf(entry));
  }

  #heard(id: string, head: MessageHead): void {
    this.#changes++;
    this.#lasts.set(id, head.last);
    this.#touched.delete(id);
    this.#touched.set(id, this.#changes);
    if (this.#touched.size > MOST_TOUCHED) {
      for (const oldest of this.#touched.keys()) {
        this.#touched.delete(oldest);
        break;
      }
    }
    this.#missed.get(id)?.push(head);
    this.#indexes.get(id)?.then(
      (index) => index?.add(head),
      () => {},
    );
  }

  /** Made with a look at all messages of the session, and then continued with each new one. */
  async #indexOf(id: string): Promise<EventIndex | undefined> {
    let index = this.#indexes.get(id);
    this.#indexes.delete(id);
    if (index === undefined) {
      index = this.#makeIndex(id);
      index.catch(() => this.#indexes.delete(id));
    }
    this.#indexes.set(id, index);
    for (const oldest of this.#indexes.keys()) {
      if (this.#indexes.size <= MOST_INDEXES) break;
      this.#indexes.delete(oldest);
    }
    return await index;
  }

  async #makeIndex(id: string): Promise<EventIndex | undefined> {
    const { streams } = this.#options;
    const missed: MessageHead[] = [];
    this.#missed.set(id, missed);
    try {
      const entry = await streams.find(id);
      const last = await streams.last(id);
      if (entry === undefined || entry.deleted !== undefined || last === undefined) {
        this.#indexes.delete(id);
        return undefined;
      }
      const index = new EventIndex(entry.born);
      for await (const head of streams.journal.heads(id, 0, last.sequence)) index.add(head);
      for (const head of missed) index.add(head);
      return index;
    } finally {
      if (this.#missed.get(id) === missed) this.#missed.delete(id);
    }
  }

  async *#pages(
    id: string,
    index: EventIndex | undefined,
    stretch: Stretch | undefined,
  ): AsyncGenerator<string> {
    if (index === undefined || stretch === undefined) return;
    const { from, to } = stretch;
    const messages = this.#options.streams.journal.read(id, from, to);
    for await (const { lines } of eventPages(messages, index.born)) yield lines;
  }

  #sessionOf(entry: SessionEntry): ReadSession {
    const { id, cwd, agent, title, created, updated, parent, notes } = entry.record;
    const holder = liveHolder(entry, this.#options.isAlive);
    const last = this.#lasts.get(id) ?? 0;
    return { id, cwd, agent, title, created, updated, parent, notes, last, holder };
  }
}
