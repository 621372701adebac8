/** What a message between the two ends of a connection is. */
export const DATA = 0;
/** The sender has finished sending; it still reads. */
export const END = 1;
/** Nothing new: the sender is alive. */
export const STATE = 2;
/** The sender is gone. Its text says why. */
export const RESET = 3;

/** Bytes before the data of a frame: its kind and its number. */
export const HEADER = 5;
const STATE_LENGTH = HEADER + 6;
const NUMBERS = 2 ** 32;

export type Frame =
  | { readonly kind: typeof DATA; readonly number: number; readonly data: Buffer }
  | { readonly kind: typeof END; readonly number: number }
  | { readonly kind: typeof STATE; readonly number: number; readonly consumed: number }
  | { readonly kind: typeof RESET; readonly number: number; readonly why: string };

/**
 * The number after this one. Data and the end count: they carry how many came before, and the other
 * kinds how many were sent so far. So whoever receives any frame sees whether one was lost.
 */
export function following(number: number): number {
  return (number + 1) % NUMBERS;
}

export function dataFrame(number: number, chunks: readonly Buffer[], length: number): Buffer {
  const frame = Buffer.allocUnsafe(HEADER + length);
  writeHeader(frame, DATA, number);
  let at = HEADER;
  for (const chunk of chunks) at += chunk.copy(frame, at);
  return frame;
}

export function endFrame(number: number): Buffer {
  return writeHeader(Buffer.allocUnsafe(HEADER), END, number);
}

/** `consumed` are all bytes of the other side's data that this side has taken. */
export function stateFrame(number: number, consumed: number): Buffer {
  const frame = writeHeader(Buffer.allocUnsafe(STATE_LENGTH), STATE, number);
  frame.writeUIntBE(consumed, HEADER, 6);
  return frame;
}

export function resetFrame(number: number, why: string): Buffer {
  return Buffer.concat([writeHeader(Buffer.allocUnsafe(HEADER), RESET, number), Buffer.from(why)]);
}

/** Undefined for what is no frame. */
export function readFrame(bytes: Uint8Array): Frame | undefined {
  const frame = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (frame.length < HEADER) return undefined;
  const number = frame.readUInt32BE(1);
  const data = frame.subarray(HEADER);
  switch (frame.readUInt8(0)) {
    case DATA:
      return { kind: DATA, number, data };
    case END:
      return { kind: END, number };
    case STATE:
      if (frame.length !== STATE_LENGTH) return undefined;
      return { kind: STATE, number, consumed: frame.readUIntBE(HEADER, 6) };
    case RESET:
      return { kind: RESET, number, why: data.toString() };
    default:
      return undefined;
  }
}

function writeHeader(frame: Buffer, kind: number, number: number): Buffer {
  frame[0] = kind;
  frame.writeUInt32BE(number, 1);
  return frame;
}
