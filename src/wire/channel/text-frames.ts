/** RFC 6455 § 5.2: the first byte of a whole, uncompressed text message. */
const TEXT = 0x81;
/** RFC 6455 § 5.2: payloads above these lengths need longer headers. */
const SHORT = 125;
const MEDIUM = 0xffff;

/** The frames of a server for these messages, in one buffer: one entry in the socket's queue. */
export function encodeTextFrames(messages: readonly string[]): Buffer {
  const parts = messages.flatMap((message) => {
    const payload = Buffer.from(message);
    return [headerOf(payload.length), payload];
  });
  return Buffer.concat(parts);
}

function headerOf(size: number): Buffer {
  if (size <= SHORT) return Buffer.of(TEXT, size);
  if (size <= MEDIUM) {
    const header = Buffer.of(TEXT, SHORT + 1, 0, 0);
    header.writeUInt16BE(size, 2);
    return header;
  }
  const header = Buffer.alloc(10);
  header.writeUInt16BE((TEXT << 8) | (SHORT + 2));
  header.writeBigUInt64BE(BigInt(size), 2);
  return header;
}
