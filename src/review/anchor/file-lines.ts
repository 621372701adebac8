/** Bytes that may still be hashed by our own SHA-1. Beyond that, loading Node's is faster. */
let small = 32 * 1024;

/** Git's blob id of this content. `isOfMany`: others follow, so loading Node's SHA-1 is worth it. */
export function blobId(content: Uint8Array, isOfMany = false): string {
  const whole = Buffer.concat([Buffer.from(`blob ${content.length}\0`), content]);
  small -= isOfMany ? Infinity : whole.length;
  if (small >= 0) return sha1(whole);
  return process.getBuiltinModule("node:crypto").hash("sha1", whole);
}

/** The lines of a text without line ends. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  if (!text.includes("\r")) return lines;
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}

const BYTE_ORDER_MARK = 0xfeff;

/** As `TextDecoder` has it, whose calls take longer than decoding a few lines. */
export function textOf(content: Uint8Array, from = 0, to = content.length): string {
  const text = asBuffer(content).toString("utf8", from, to);
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
}

/** The same bytes. */
export function asBuffer(content: Uint8Array): Buffer {
  if (Buffer.isBuffer(content)) return content;
  return Buffer.from(content.buffer, content.byteOffset, content.length);
}

/** Git's test: a NUL in the first 8000 bytes (git's xdiff-interface.c). */
export function isBinary(content: Uint8Array): boolean {
  return content.subarray(0, 8000).includes(0);
}

/**
 * SHA-1 of something small, in hexadecimal. Loading Node's own takes 10 ms, longer than everything
 * else that adding a comment does.
 */
function sha1(content: Uint8Array): string {
  const blocks = (content.length + 9 + 63) >> 6;
  const padded = new DataView(new ArrayBuffer(blocks * 64));
  new Uint8Array(padded.buffer).set(content);
  padded.setUint8(content.length, 0x80);
  padded.setBigUint64(blocks * 64 - 8, BigInt(content.length) * 8n);
  const state = Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0);
  const words = new Int32Array(80);
  for (let block = 0; block < blocks; block++) {
    for (let n = 0; n < 16; n++) words[n] = padded.getInt32(block * 64 + n * 4);
    digest(state, words);
  }
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

/** FIPS 180-4 § 6.1.2. Written plainly, because it ends before it could be compiled. */
function digest(state: Int32Array, words: Int32Array): void {
  for (let n = 16; n < 80; n++) {
    const near = (words[n - 3] ?? 0) ^ (words[n - 8] ?? 0);
    const word = near ^ (words[n - 14] ?? 0) ^ (words[n - 16] ?? 0);
    words[n] = (word << 1) | (word >>> 31);
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0] = state;
  for (let n = 0; n < 80; n++) {
    let mix: number;
    if (n < 20) mix = ((b & c) | (~b & d)) + 0x5a827999;
    else if (n < 40) mix = (b ^ c ^ d) + 0x6ed9eba1;
    else if (n < 60) mix = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    else mix = (b ^ c ^ d) + 0xca62c1d6;
    const next = (((a << 5) | (a >>> 27)) + mix + e + (words[n] ?? 0)) | 0;
    e = d;
    d = c;
    c = (b << 30) | (b >>> 2);
    b = a;
    a = next;
  }
  for (const [index, value] of [a, b, c, d, e].entries()) {
    state[index] = (state[index] ?? 0) + value;
  }
}
