import { isIPv6 } from "node:net";
import { addressBytes } from "../../../base/address.ts";
import { fixedBuffer, lend, NULL, type Pointer } from "../../../base/process/ffi.ts";
import { EngineError, native, takeErrors } from "./native.ts";

const isMac = process.platform === "darwin";
const AF_INET = 2;
const AF_INET6 = isMac ? 30 : 10;
const SOCK_DGRAM = 2;
const SOL_SOCKET = isMac ? 0xffff : 1;
const SO_SNDBUF = isMac ? 0x1001 : 7;
const SO_RCVBUF = isMac ? 0x1002 : 8;
const CLOSE_WITH_BIO = 1;

/** Room for bursts: what a window of OpenSSL's flow control can bring at once. */
const BUFFER = 2 * 1024 * 1024;

/** A UDP socket as OpenSSL wants it. Its owner gives the bio to one SSL, which frees both. */
export type UdpSocket = ReturnType<typeof openSocket>;

export function bindSocket(host: string, port: number): UdpSocket {
  return openSocket(host, port, native.BIO_bind, "unusable");
}

/** Connected, so that the system tells when nobody listens there. */
export function connectSocket(host: string, port: number): UdpSocket {
  return openSocket(host, port, native.BIO_connect, "network");
}

/** Lends an address in OpenSSL's form. */
export function withAddress<T>(host: string, port: number, use: (address: Pointer) => T): T {
  const address = native.BIO_ADDR_new();
  using ends = new DisposableStack();
  ends.defer(() => native.BIO_ADDR_free(address));
  const raw = addressBytes(host);
  const bytes = fixedBuffer(raw.length);
  bytes.set(raw);
  // The port is wanted as it travels: the high byte first.
  const networkPort = Buffer.from([port >> 8, port & 255]).readUInt16LE();
  const family = bytes.length === 4 ? AF_INET : AF_INET6;
  lend(bytes, (at) =>
    native.BIO_ADDR_rawmake(address, family, at, BigInt(bytes.length), networkPort),
  );
  return use(address);
}

function openSocket(
  host: string,
  port: number,
  attach: typeof native.BIO_bind,
  trouble: EngineError["trouble"],
) {
  native.ERR_clear_error();
  const fd = native.BIO_socket(isIPv6(host) ? AF_INET6 : AF_INET, SOCK_DGRAM, 0, 0);
  if (fd < 0) throw new EngineError("network", takeErrors());
  try {
    native.BIO_socket_nbio(fd, 1);
    const size = fixedBuffer(4);
    size.writeInt32LE(BUFFER);
    // As much as the system grants.
    lend(size, (at) => {
      native.setsockopt(fd, SOL_SOCKET, SO_RCVBUF, at, 4);
      native.setsockopt(fd, SOL_SOCKET, SO_SNDBUF, at, 4);
    });
    if (withAddress(host, port, (address) => attach(fd, address, 0)) !== 1) {
      throw new EngineError(trouble, takeErrors());
    }
    const bio = native.BIO_new_dgram(fd, CLOSE_WITH_BIO);
    if (bio === NULL) throw new EngineError("network", takeErrors());
    return { fd, bio, port: portOf(fd) };
  } catch (error) {
    native.BIO_closesocket(fd);
    throw error;
  }
}

function portOf(fd: number): number {
  const address = fixedBuffer(128);
  const length = fixedBuffer(4);
  length.writeUInt32LE(address.length);
  lend(address, (at) => lend(length, (lengthAt) => native.getsockname(fd, at, lengthAt)));
  return address.readUInt16BE(2);
}
