import { getRawPointer } from "node:ffi";

/** An address of native memory. Whoever made it frees it, once. */
export type Pointer = bigint;

export const NULL: Pointer = 0n;

/**
 * The address of a buffer's memory. It is good as long as the buffer is, and the address alone does
 * not keep it: see `pinnedBuffer` and `lend`.
 */
export function addressOf(buffer: Uint8Array): Pointer {
  return getRawPointer(buffer);
}

/** Zeroed memory that stays where it is: a small Buffer may lie on the heap, which moves. */
export function fixedBuffer(size: number): Buffer {
  return Buffer.from(new ArrayBuffer(size));
}

export function fixedText(text: string): Buffer {
  const buffer = fixedBuffer(Buffer.byteLength(text) + 1);
  buffer.write(text);
  return buffer;
}

const pinned: Buffer[] = [];

/** Fixed memory for as long as the program runs, even where only its address is used. */
export function pinnedBuffer(size: number): Buffer {
  const buffer = fixedBuffer(size);
  pinned.push(buffer);
  return buffer;
}

const lent: { last?: Uint8Array } = {};

/** Lends the memory of a buffer to native code, and keeps the buffer until that returns. */
export function lend<T>(buffer: Uint8Array, use: (address: Pointer) => T): T {
  try {
    return use(getRawPointer(buffer));
  } finally {
    lent.last = buffer;
  }
}
