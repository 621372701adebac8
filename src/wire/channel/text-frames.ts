/** RFC 6455 § 5.2: the first byte of a whole, uncompressed text message. */
const TEXT = 0x81;
/** RFC 6455 § 5.2: payloads above these lengths need longer headers. */
const SHORT = 125;
const MEDIUM = 0xffff;
const NO_HEADERS = ["\0".repeat(2), "\0".repeat(4), "\0".repeat(10)] as const;

/**
 * The frames of a server for these messages, in one buffer. A library that writes each frame by itself
 * costs two entries in the socket's queue for each; here one pass encodes all of them.
 */
export function encodeTextFrames(messages: readonly string[]): Buffer {
  let text = "";
  for (const message of messages) text += `${placeholderFor(message.length)}${message}`;
  const frames = Buffer.from(text);
  // Of ASCII alone, each message has as many bytes as characters.
  if (frames.length === text.length) {
    let at = 0;
    for (const { length } of messages) at = writeHeader(frames, at, length) + length;
    return frames;
  }
  return encodeOneByOne(messages);
}

function encodeOneByOne(messages: readonly string[]): Buffer {
  const sizes = messages.map((message) => Buffer.byteLength(message));
  const headers = sizes.map((size) => placeholderFor(size).length);
  const total = [...sizes, ...headers].reduce((sum, size) => sum + size, 0);
  const frames = Buffer.allocUnsafe(total);
  let at = 0;
  for (const [index, message] of messages.entries()) {
    const size = sizes[index] ?? 0;
    const from = writeHeader(frames, at, size);
    frames.write(message, from);
    at = from + size;
  }
  return frames;
}

function placeholderFor(size: number): string {
  const [short, medium, long] = NO_HEADERS;
  return size <= SHORT ? short : size <= MEDIUM ? medium : long;
}

/** Returns where the payload begins. */
function writeHeader(frames: Buffer, at: number, size: number): number {
  frames[at] = TEXT;
  if (size <= SHORT) {
    frames[at + 1] = size;
    return at + 2;
  }
  if (size <= MEDIUM) {
    frames[at + 1] = SHORT + 1;
    frames.writeUInt16BE(size, at + 2);
    return at + 4;
  }
  frames[at + 1] = SHORT + 2;
  frames.writeBigUInt64BE(BigInt(size), at + 2);
  return at + 10;
}
