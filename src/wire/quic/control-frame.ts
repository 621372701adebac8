/**
 * What the program and its QUIC engine say to each other over a pair of pipes: a header (the
 * payload's length, a kind, flags, and whom it concerns) and a payload. Both ends are the same
 * machine, so numbers are little-endian.
 */
export const HEADER = 12;

/** The longest payload of a frame: bodies travel in pieces, so that none holds up the others. */
export const LONGEST_PAYLOAD = 64 * 1024;

/** What the program asks of the engine. */
export const COMMAND = {
  listen: 1,
  dial: 2,
  /** Bytes of a stream. The first ones open it: then the payload begins with its connection. */
  write: 3,
  /** The program has read this many bytes of a stream, and can take as many more. */
  credit: 4,
  reset: 5,
  /** Ends a connection, or a listener with all its connections. */
  close: 6,
  renew: 7,
} as const;

/** What the engine tells the program. */
export const EVENT = {
  listening: 1,
  connected: 2,
  /** Bytes of a stream. The first ones of a peer's stream begin with its connection. */
  data: 3,
  /** This many bytes of a stream were sent, and as many may follow. */
  room: 4,
  reset: 5,
  /** A connection or a listener has ended, or could not be opened. */
  closed: 6,
  /** A client was refused. */
  refused: 7,
  /** A listener has taken other certificates, or could not. */
  renewed: 8,
} as const;

export const FIRST = 1;
export const LAST = 2;

export function writeHeader(
  to: Buffer,
  at: number,
  kind: number,
  flags: number,
  id: number,
  length: number,
): void {
  to.writeUInt32LE(length, at);
  to[at + 4] = kind;
  to[at + 5] = flags;
  to.writeUInt16LE(0, at + 6);
  to.writeUInt32LE(id, at + 8);
}

/** The payload is only valid during the call. */
export type TakeFrame = (kind: number, flags: number, id: number, payload: Buffer) => void;

/** Hands over the whole frames of some bytes. Returns where the unfinished one begins. */
export function readFrames(bytes: Buffer, take: TakeFrame): number {
  let at = 0;
  while (bytes.length - at >= HEADER) {
    const end = at + HEADER + bytes.readUInt32LE(at);
    if (end > bytes.length) break;
    take(
      bytes[at + 4] ?? 0,
      bytes[at + 5] ?? 0,
      bytes.readUInt32LE(at + 8),
      bytes.subarray(at + HEADER, end),
    );
    at = end;
  }
  return at;
}

/** Bytes of a stream that may be in the pipe before the engine has taken any of them. */
export const WRITE_WINDOW = 64 * 1024;

/**
 * Bytes of a stream that the engine reads before the program has taken any of them. Bytes that the engine
 * leaves unread reduce the window of all other streams of the connection, so this is generous.
 */
export const READ_WINDOW = 4 * 1024 * 1024;
