import type * as Ffi from "node:ffi";
import type { Socket } from "node:net";

/** Linux: asm-generic/socket.h, but for POWER. */
const SOL_SOCKET = 1;
const SO_PEERCRED = process.arch === "ppc64" ? 21 : 17;
/** Words of 32 bits in struct ucred (the process, the user, the group), and which is the user. */
const UCRED = 3;
const USER = 1;

/**
 * The user of the process at the other end of a Unix socket, as the kernel noted it when they were
 * connected. Undefined where it does not tell: on Windows, and in a Node without FFI. -1 where the
 * connection is over.
 */
export async function peerUid(socket: Socket): Promise<number | undefined> {
  const ask = await (asking ??= load());
  // Taken here: until the call returns, nothing else runs that could close it.
  const { fd = -1 } = (socket as { _handle?: { fd?: number } | null })._handle ?? {};
  return ask?.(fd);
}

let asking: Promise<((fd: number) => number) | undefined> | undefined;

async function load(): Promise<((fd: number) => number) | undefined> {
  const ffi = process.getuid === undefined ? undefined : loadFfi();
  if (ffi === undefined) return undefined;
  const { addressOf, pinnedBuffer } = await import("./ffi.ts");
  const [found, length] = [pinnedBuffer(UCRED * 4), pinnedBuffer(4)];
  const words = new Uint32Array(found.buffer);
  const [at, lengthAt] = [addressOf(found), addressOf(length)];
  if (process.platform !== "linux") {
    const { getpeereid } = ffi.dlopen(null, PEER_EID).functions;
    return (fd) => (getpeereid(fd, at, at + 4n) === 0 ? (words[0] ?? -1) : -1);
  }
  const { getsockopt } = ffi.dlopen(null, SOCKET_OPTION).functions;
  return (fd) => {
    new Uint32Array(length.buffer)[0] = UCRED * 4;
    const failed = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, at, lengthAt);
    return failed === 0 ? (words[USER] ?? -1) : -1;
  };
}

const SOCKET_OPTION = {
  getsockopt: { arguments: ["i32", "i32", "i32", "pointer", "pointer"], return: "i32" },
} as const;
/** macOS and the BSDs. */
const PEER_EID = {
  getpeereid: { arguments: ["i32", "pointer", "pointer"], return: "i32" },
} as const;

/** Without the warning that it is experimental, which would be on the stderr of every editor. */
function loadFfi(): typeof Ffi | undefined {
  const warn = Reflect.get(process, "emitWarning");
  process.emitWarning = () => {};
  try {
    return process.getBuiltinModule("node:ffi");
  } finally {
    process.emitWarning = warn;
  }
}
