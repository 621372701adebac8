import {
  DeliverPolicy,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  type MsgRequest,
  type StoredMsg,
} from "@nats-io/jetstream";
import { headers, type MsgHdrs } from "@nats-io/nats-core";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { FleetConnection } from "../connection/connect.ts";
import { firstFrom, followStream, openReader } from "../stream-reader.ts";
import {
  isFinal,
  isLastAttempt,
  isSessionId,
  sessionNotFound,
  toProtocolError,
  unanswered,
} from "./session-entry.ts";

/** A message with events of one session. */
export interface EventMessage {
  /** The server stores only one message with an id, for some minutes. */
  readonly id: string;
  readonly epoch: number;
  /** The node that published it. */
  readonly node: string;
  /** Number of its first event. Without events, that of the next event. */
  readonly first: number;
  /** Number of the last event that is complete with this message. */
  readonly last: number;
  /** One line for each event (`lineOf` of the session log), or a part of the line of a large event. */
  readonly body: Uint8Array;
  /** The event goes on in the next message. */
  readonly more: boolean;
}

export interface StoredMessage extends EventMessage {
  readonly sequence: number;
}

/** The messages of sessions, by id. A message is appended only after the one that its writer knows. */
export interface Journal {
  /**
   * Returns the sequence of the message. `after` is the sequence of the last message of the session, 0
   * if there is none. Throws `Outdated` if there is a later one, and `Refused` if it cannot be stored.
   * After any other error it may have been stored, now or later.
   */
  publish(id: string, message: EventMessage, after: number): Promise<number>;
  /** The last message of a session. */
  last(id: string): Promise<StoredMessage | undefined>;
  /** The messages of a session from one sequence up to another, which is that of an existing message. */
  read(id: string, from: number, to: number): AsyncIterable<StoredMessage>;
  /** Removes the messages of a session before a sequence. */
  purge(id: string, before: number): Promise<void>;
}

const EPOCH = "Tl-Epoch";
const NODE = "Tl-Node";
const FIRST = "Tl-First";
const LAST = "Tl-Last";
const MORE = "Tl-More";
const MESSAGE_ID = "Nats-Msg-Id";

/**
 * Messages that are fetched ahead of a reader, each of up to 256 KB. They are not counted in bytes: the
 * library then asks for as many as came last, and waits where the next message is larger.
 */
const AHEAD = { max_messages: 64, threshold_messages: 32 };
/** Milliseconds without a message until reading begins anew. */
const LONGEST_WAIT = 2_000;
/** Messages without bodies that are fetched ahead. */
const HEADS_AHEAD = 1_000;
/** Milliseconds of one request for them; twice in that time the server tells that it is there. */
const HEADS_WAIT = 10_000;

interface StreamJournalOptions {
  readonly connection: FleetConnection;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
}

/** Called with the number of the last event of a session. */
type Follower = (id: string, last: number) => void;

export interface JournalSubscription extends AsyncDisposable {
  /** Resolves when the last message of each session was heard. */
  readonly known: Promise<unknown>;
}

/** The messages of sessions in streams of NATS, with a subject for each session. */
export function streamJournal({ client, connection, manager }: StreamJournalOptions) {
  const { subjects, nats } = connection;

  async function publish(id: string, message: EventMessage, after: number): Promise<number> {
    const { stream, subject } = placeOf(id);
    const options = {
      msgID: message.id,
      headers: headersOf(message),
      expect: { lastSubjectSequence: after, streamName: stream },
    };
    const published = connection.ask(() => client.publish(subject, message.body, options));
    const { seq } = await published.catch((error: unknown) => {
      throw toProtocolError(error);
    });
    return seq;
  }

  async function last(id: string): Promise<StoredMessage | undefined> {
    const { stream, subject } = placeOf(id);
    return await get(stream, { last_by_subj: subject });
  }

  /** The first message of a session from a sequence on. */
  async function next(id: string, from: number): Promise<StoredMessage | undefined> {
    const { stream, subject } = placeOf(id);
    return await get(stream, firstFrom(from, subject));
  }

  /** Reports the last message of each session, and then each new message. */
  function follow(heard: Follower): JournalSubscription {
    const reading = { deliver_policy: DeliverPolicy.LastPerSubject, headers_only: true };
    const fetching = { max_messages: HEADS_AHEAD, expires: HEADS_WAIT };
    const known = subjects.eventStreams.map(() => Promise.withResolvers<void>());
    const followers = subjects.eventStreams.map((stream, at) => {
      const noteIfLast = (pending: number): void => {
        if (pending === 0) known[at]?.resolve();
      };
      const open = async (): ReturnType<typeof openReader> => {
        const reader = await openReader(nats, stream, reading, fetching);
        noteIfLast(reader.pending);
        return reader;
      };
      return followStream({
        connection,
        open,
        heard: (message) => {
          heard(subjects.sessionOf(message.subject), messageOf(message, message.headers).last);
          noteIfLast(message.info.pending);
        },
      });
    });
    return {
      known: Promise.all(known.map(({ promise }) => promise)),
      [Symbol.asyncDispose]: async () => {
        await Promise.all(followers.map((each) => each[Symbol.asyncDispose]()));
      },
    };
  }

  async function* read(id: string, from: number, to: number): AsyncGenerator<StoredMessage> {
    let next = Math.max(from, 1);
    for (let attempt = 1; next <= to; attempt++) {
      try {
        for await (const message of readOn(id, next, to)) {
          next = message.sequence + 1;
          attempt = 1;
          yield message;
        }
        return;
      } catch (error) {
        if (isFinal(error)) throw error;
        if (isLastAttempt(attempt, error)) throw unanswered(error);
        await connection.pause(attempt);
      }
    }
  }

  /** Fails if no message comes: a server that was restarted does not know its readers any more. */
  async function* readOn(id: string, from: number, to: number): AsyncGenerator<StoredMessage> {
    const { stream, subject } = placeOf(id);
    const reading = {
      filter_subject: subject,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: from,
    };
    const fetching = { ...AHEAD, expires: HEADS_WAIT };
    const reader = await connection.ask(() => openReader(nats, stream, reading, fetching));
    using late = setTimeout(() => reader.stop(), LONGEST_WAIT).unref();
    try {
      for await (const message of reader) {
        late.refresh();
        if (message.seq > to) return;
        yield messageOf(message, message.headers);
        // After a purge there may be none with this very sequence.
        if (message.seq === to || message.info.pending === 0) return;
      }
    } finally {
      // In the background: the caller need not wait until the server has deleted the reader.
      background(reader[Symbol.asyncDispose](), "Ending a reader of events");
    }
    const why = `NATS sent no message of it for ${LONGEST_WAIT / 1000} seconds`;
    throw new TrunklineError("unavailable", `Cannot read the events of session '${id}': ${why}.`);
  }

  async function purge(id: string, before: number): Promise<void> {
    const { stream, subject } = placeOf(id);
    await connection.ask(() => manager.streams.purge(stream, { filter: subject, seq: before }));
  }

  async function get(stream: string, query: MsgRequest): Promise<StoredMessage | undefined> {
    const found = await connection.ask(() => manager.streams.getMessage(stream, query));
    return found === null ? undefined : messageOf(found, found.header);
  }

  /** Where the messages of a session are. */
  function placeOf(id: string): { readonly stream: string; readonly subject: string } {
    if (isSessionId(id)) return { stream: subjects.eventStreamOf(id), subject: subjects.event(id) };
    throw sessionNotFound(id);
  }

  return { publish, last, next, follow, read, purge };
}

export type StreamJournal = ReturnType<typeof streamJournal>;

function headersOf({ epoch, node, first, last, more }: EventMessage): MsgHdrs {
  const map = headers();
  map.set(EPOCH, String(epoch));
  map.set(NODE, node);
  map.set(FIRST, String(first));
  map.set(LAST, String(last));
  if (more) map.set(MORE, "1");
  return map;
}

function messageOf(
  { seq: sequence, data: body }: Pick<JsMsg | StoredMsg, "seq" | "data">,
  header: MsgHdrs | undefined,
): StoredMessage {
  const number = (name: string): number => Number(header?.get(name)) || 0;
  return {
    id: header?.get(MESSAGE_ID) ?? "",
    epoch: number(EPOCH),
    node: header?.get(NODE) ?? "",
    first: number(FIRST),
    last: number(LAST),
    more: header?.has(MORE) ?? false,
    body,
    sequence,
  };
}
