import { once } from "node:events";
import { connect, type Socket } from "node:net";

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
  readonly fin?: boolean;
  /** The three reserved bits. */
  readonly reserved?: number;
  readonly masked?: boolean;
  /** How long it says it is, where that is a lie. */
  readonly length?: bigint;
}

const MASK = Buffer.from([0x12, 0x34, 0x56, 0x78]);

/** RFC 6455, section 5.2. */
export function encodeWsFrame(frame: Frame): Buffer {
  const { opcode, payload, fin = true, reserved = 0, masked = true } = frame;
  const length = frame.length ?? BigInt(payload.length);
  const size = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const head = Buffer.alloc(2 + size);
  head[0] = (fin ? 0x80 : 0) | (reserved << 4) | opcode;
  head[1] = (masked ? 0x80 : 0) | (size === 0 ? Number(length) : size === 2 ? 126 : 127);
  if (size === 2) head.writeUInt16BE(Number(length), 2);
  if (size === 8) head.writeBigUInt64BE(length, 2);
  if (!masked) return Buffer.concat([head, payload]);
  const hidden = Buffer.from(payload);
  for (let at = 0; at < hidden.length; at++) hidden[at]! ^= MASK[at % 4]!;
  return Buffer.concat([head, MASK, hidden]);
}

export interface WsListener {
  message(text: string): void;
  pong(payload: string): void;
}

/** A client that sends frames as they are made, right or wrong. */
export class RawWebSocket implements Disposable {
  readonly #socket: Socket;
  readonly #listener: WsListener;
  readonly closed: Promise<unknown>;
  #bytes: Buffer = Buffer.alloc(0);
  isClosed = false;
  /** The code that the other side closed with. */
  closeCode: number | undefined;

  private constructor(socket: Socket, listener: WsListener) {
    this.#socket = socket;
    this.#listener = listener;
    this.closed = new Promise((resolve) => socket.on("close", resolve));
    socket.on("error", () => {});
    socket.on("close", () => (this.isClosed = true));
  }

  /** Shakes hands. */
  static async open(
    url: URL,
    token: string | undefined,
    listener: WsListener,
  ): Promise<RawWebSocket> {
    const socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true });
    const opened = new RawWebSocket(socket, listener);
    const authorization = token === undefined ? "" : `Authorization: Bearer ${token}\r\n`;
    socket.write(
      `GET /acp HTTP/1.1\r\nHost: ${url.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n` +
        `${authorization}\r\n`,
    );
    await opened.#handshake();
    return opened;
  }

  /** Resolves when there is room for more. */
  async write(bytes: Buffer): Promise<void> {
    if (this.#socket.write(bytes)) return;
    await Promise.race([once(this.#socket, "drain"), this.closed]);
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #handshake(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let hasShaken = false;
    this.#socket.on("data", (chunk: Buffer) => {
      this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
      if (!hasShaken) {
        const end = this.#bytes.indexOf("\r\n\r\n");
        if (end < 0) return;
        const head = this.#bytes.toString("latin1", 0, end);
        if (!head.startsWith("HTTP/1.1 101 ")) return reject(new Error(head));
        hasShaken = true;
        this.#bytes = this.#bytes.subarray(end + 4);
        resolve();
      }
      this.#frames();
      return undefined;
    });
    void this.closed.then(() => reject(new Error("It was closed")));
    return promise;
  }

  #frames(): void {
    while (this.#bytes.length >= 2) {
      const short = this.#bytes[1]! & 0x7f;
      const from = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
      if (this.#bytes.length < from) return;
      const length =
        short === 126
          ? this.#bytes.readUInt16BE(2)
          : short === 127
            ? Number(this.#bytes.readBigUInt64BE(2))
            : short;
      if (this.#bytes.length < from + length) return;
      const payload = this.#bytes.subarray(from, from + length);
      const opcode = this.#bytes[0]! & 0x0f;
      this.#bytes = this.#bytes.subarray(from + length);
      this.#frame(opcode, payload);
    }
  }

  #frame(opcode: number, payload: Buffer): void {
    if (opcode === OPCODE.text) this.#listener.message(payload.toString());
    else if (opcode === OPCODE.pong) this.#listener.pong(payload.toString("latin1"));
    else if (opcode === OPCODE.ping)
      void this.write(encodeWsFrame({ opcode: OPCODE.pong, payload }));
    else if (opcode === OPCODE.close) {
      this.closeCode = payload.length < 2 ? 1005 : payload.readUInt16BE(0);
    }
  }
}
