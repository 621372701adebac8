/** Streams over which the events of sessions are spread. Another number would lose what is stored. */
const EVENT_STREAMS = 16;

/**
 * The names that a pool has in NATS. All of them contain the name of the pool, so that the credentials
 * of a worker can be limited to it.
 */
export class Subjects {
  readonly pool: string;

  /** `pool` has only letters, digits, `-` and `_`. */
  constructor(pool: string) {
    this.pool = pool;
  }

  /** Streams of the events of sessions: to read one session, NATS looks at all messages of its stream. */
  get eventStreams(): string[] {
    return Array.from({ length: EVENT_STREAMS }, (_, at) => this.#eventStream(at));
  }

  /** The stream that has the events of a session. */
  eventStreamOf(session: string): string {
    return this.#eventStream(shareOf(session));
  }

  event(session: string): string {
    return this.eventsIn(shareOf(session), session);
  }

  /** Subjects of all sessions whose events are in the stream at this place of `eventStreams`. */
  eventsIn(at: number | "*", session = ">"): string {
    return `tl.${this.pool}.event.${at}.${session}`;
  }

  /** The session whose events have this subject. */
  sessionOf(subject: string): string {
    // The id itself may contain a dot.
    return subject.split(".").slice(4).join(".");
  }

  #eventStream(at: number): string {
    return `TL_${this.pool}_EVENTS_${at}`;
  }

  /** Key-value bucket of the sessions: record, holder and epoch, by id. */
  get sessions(): string {
    return `TL_${this.pool}_SESSIONS`;
  }

  /** Stream of the requests that wait for a free slot. */
  get jobs(): string {
    return `TL_${this.pool}_JOBS`;
  }

  /** A request for a worker with certain labels; `*` for all. */
  job(labels: string): string {
    return `tl.${this.pool}.job.${labels}`;
  }

  /** Where a worker offers a slot to a gateway that waits for one. */
  offer(gateway: string, job: string): string {
    return `tl.${this.pool}.offer.${gateway}.${job}`;
  }

  /** Stream of what all gateways and workers share: rules, reviews, identities. */
  get shared(): string {
    return `TL_${this.pool}_SHARED`;
  }

  /** `kind` names the store, such as `rule`. */
  change(kind: string, key: string): string {
    return `tl.${this.pool}.shared.${kind}.${key}`;
  }

  /** Stream of what only gateways share: access tokens. */
  get tokens(): string {
    return `TL_${this.pool}_TOKENS`;
  }

  /** `secret` is chosen when the stream is created, and known to those who may look at it. */
  tokenChange(secret: string, kind: string, key: string): string {
    return `tl.${this.pool}.tokens.${secret}.${kind}.${key}`;
  }

  /** Stream of the audits of all nodes. */
  get audits(): string {
    return `TL_${this.pool}_AUDITS`;
  }

  /** The audit of the node with this stable name. */
  audit(name: string): string {
    return `tl.${this.pool}.audit.${name}`;
  }

  /** Object store of the checkpoints of remote runs. */
  get checkpoints(): string {
    return `TL_${this.pool}_CHECKPOINTS`;
  }

  /** Where gateways and workers tell that they are alive. */
  get beat(): string {
    return `tl.${this.pool}.beat`;
  }

  /** Prefix of the subjects on which the node with this stable name gets its answers. */
  inbox(name: string): string {
    return `tl.${this.pool}.inbox.${name}`;
  }

  /** Requests to one node: to open a connection, to drain. */
  request(node: string, what: string): string {
    return `tl.${this.pool}.to.${node}.${what}`;
  }

  /** One direction of a connection between two nodes. */
  connection(id: string, to: "server" | "client"): string {
    return `tl.${this.pool}.connection.${id}.${to}`;
  }
}

/** Which of the streams has a session, by its id (FNV-1a). */
function shareOf(session: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < session.length; at++) {
    hash = Math.imul(hash ^ session.charCodeAt(at), 0x01000193);
  }
  return (hash >>> 0) % EVENT_STREAMS;
}
