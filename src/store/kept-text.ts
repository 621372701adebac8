/** Shorter ones are kept as they are: a person waits, and what compresses takes long to load. */
const SHORT = 32 * 1024;

/** No compressed text begins so. */
const PLAIN = 0;

/** A text as it is kept in a database. */
export function toKept(text: Uint8Array): Uint8Array {
  if (text.length > SHORT) return process.getBuiltinModule("node:zlib").deflateSync(text);
  return Buffer.concat([Buffer.of(PLAIN), text]);
}

export function fromKept(kept: Uint8Array): Uint8Array {
  if (kept[0] === PLAIN) return kept.subarray(1);
  return process.getBuiltinModule("node:zlib").inflateSync(kept);
}
