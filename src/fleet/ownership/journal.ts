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

/** What is known of a message without its body. */
export interface MessageHead extends Omit<StoredMessage, "body"> {
  /** Bytes of its body. */
  readonly size: number;
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
