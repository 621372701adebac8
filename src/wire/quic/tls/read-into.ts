import type { TLSSocket } from "node:tls";

const SIZE = 64 * 1024;
/** One for all sockets: what is read is taken before the next read. */
const shared = Buffer.allocUnsafeSlow(SIZE);

/** What Node's own `onread` option sets; it has it for sockets that dial, and not for a server's. */
interface Internals {
  readonly _handle?: { useUserBuffer?(buffer: Buffer): void };
}

/**
 * Calls `take` with what a socket receives. The bytes are lent. Node allocates 64 KiB for each read
 * of a TLS socket, however short, and a program that answers small messages spends a quarter of its
 * time to free them. So all sockets read into one buffer, where this Node can.
 */
export function readInto(socket: TLSSocket, take: (bytes: Buffer) => void): void {
  const symbol = (name: string): symbol | undefined =>
    Object.getOwnPropertySymbols(socket).find(({ description }) => description === name);
  const { _handle: handle } = socket as TLSSocket & Internals;
  const [buffer, callback] = [symbol("kBuffer"), symbol("kBufferCb")];
  if (handle?.useUserBuffer === undefined || buffer === undefined || callback === undefined) {
    socket.on("data", take);
    return;
  }
  Object.assign(socket, {
    [buffer]: shared,
    [callback]: (length: number) => {
      take(shared.subarray(0, length));
      return true;
    },
  });
  handle.useUserBuffer(shared);
  socket.resume();
}
