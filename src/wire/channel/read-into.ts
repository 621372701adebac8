import type { Readable } from "node:stream";

const SIZE = 64 * 1024;
/** One for all sockets: what is read is taken before the next read. */
const shared = Buffer.allocUnsafeSlow(SIZE);

/** What Node's own `onread` option sets; it has it for sockets that dial, and for no others. */
interface Internals {
  readonly _handle?: { useUserBuffer?(buffer: Buffer): void } | null;
}

/**
 * Calls `take` with what a socket or a pipe receives. The bytes are lent. Node allocates 64 KiB for each
 * read, however short, and a program that answers small messages spends a quarter of its time to free
 * them. So all read into one buffer, where this Node can.
 */
export function readInto(readable: Readable, take: (bytes: Buffer) => void): void {
  const symbol = (name: string): symbol | undefined =>
    Object.getOwnPropertySymbols(readable).find(({ description }) => description === name);
  const { _handle: handle } = readable as Readable & Internals;
  const [buffer, callback] = [symbol("kBuffer"), symbol("kBufferCb")];
  // Another listener is served from the buffer of the stream.
  const canLend = buffer !== undefined && callback !== undefined && !readable.readableFlowing;
  if (typeof handle?.useUserBuffer !== "function" || !canLend) {
    readable.on("data", take).resume();
    return;
  }
  const before = readable.read() as Buffer | null;
  Object.assign(readable, {
    [buffer]: shared,
    [callback]: (length: number) => {
      take(shared.subarray(0, length));
      return true;
    },
  });
  handle.useUserBuffer(shared);
  if (before !== null) take(before);
  readable.resume();
}
