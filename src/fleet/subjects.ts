/** The form of the name of a gateway or worker: it becomes a part of subjects. */
export const NODE_NAME = "^[A-Za-z0-9_-]{1,64}$";

/** Streams over which the events of sessions are spread. Another number would lose what is stored. */
const EVENT_STREAMS = 16;

/**
 * The names that a pool has in NATS. All of them contain the name of the pool, so that the credentials
 * of a worker can be limited to it. `pool` has only letters, digits, `-` and `_`.
 */
export function subjectsOf(pool: string) {
  const eventStream = (at: number): string => `TL_${pool}_EVENTS_${at}`;
  /** Subjects of all sessions whose events are in the stream at this place of `eventStreams`. */
  const eventsIn = (at: number | "*", session = ">"): string => `tl.${pool}.event.${at}.${session}`;
  return {
    pool,
    /** Streams of the events of sessions: to read one session, NATS looks at all messages of its stream. */
    eventStreams: Array.from({ length: EVENT_STREAMS }, (_, at) => eventStream(at)),
    /** The stream that has the events of a session. */
    eventStreamOf: (session: string) => eventStream(shareOf(session)),
    eventsIn,
    event: (session: string) => eventsIn(shareOf(session), session),
    /** The session whose events have this subject. The id itself may contain a dot. */
    sessionOf: (subject: string) => subject.split(".").slice(4).join("."),
    /** Key-value bucket of the sessions: record, holder and epoch, by id. */
    sessions: `TL_${pool}_SESSIONS`,
    /** Key-value bucket of what workers have used of budgets, and have reserved. */
    budgets: `TL_${pool}_BUDGETS`,
    /** Stream of the requests that wait for a free slot. */
    jobs: `TL_${pool}_JOBS`,
    /** A request for a worker with certain labels; `*` for all. */
    job: (labels: string) => `tl.${pool}.job.${labels}`,
    /** Where a worker offers a slot to a gateway that waits for one. */
    offer: (gateway: string, job: string) => `tl.${pool}.offer.${gateway}.${job}`,
    /** Stream of what all gateways and workers share: rules, reviews, identities. */
    shared: `TL_${pool}_SHARED`,
    /** `kind` names the store, such as `rule`. */
    change: (kind: string, key: string) => `tl.${pool}.shared.${kind}.${key}`,
    /** Stream of what only gateways share: access tokens. */
    tokens: `TL_${pool}_TOKENS`,
    /** `secret` is chosen when the stream is created, and known to those who may look at it. */
    tokenChange: (secret: string, kind: string, key: string) =>
      `tl.${pool}.tokens.${secret}.${kind}.${key}`,
    /** Stream of the audits of all nodes. */
    audits: `TL_${pool}_AUDITS`,
    /** The audit of the node with this stable name. */
    audit: (name: string) => `tl.${pool}.audit.${name}`,
    /** Object store of the checkpoints of remote runs. */
    checkpoints: `TL_${pool}_CHECKPOINTS`,
    /** Where gateways and workers tell that they are alive. */
    beat: `tl.${pool}.beat`,
    /** Prefix of the subjects on which the node with this stable name gets its answers. */
    inbox: (name: string) => `tl.${pool}.inbox.${name}`,
    /** Requests to one node: to open a connection, to drain. */
    request: (node: string, what: string) => `tl.${pool}.to.${node}.${what}`,
    /** One direction of a connection between two nodes. */
    connection: (id: string, to: "server" | "client") => `tl.${pool}.connection.${id}.${to}`,
  } as const;
}

export type Subjects = ReturnType<typeof subjectsOf>;

/** Which of the streams has a session, by its id (FNV-1a). */
function shareOf(session: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < session.length; at++) {
    hash = Math.imul(hash ^ session.charCodeAt(at), 0x01000193);
  }
  return (hash >>> 0) % EVENT_STREAMS;
}
