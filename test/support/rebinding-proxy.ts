import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";

/**
 * A UDP proxy between one client and a server. It stands for a NAT: `rebind` makes the client's
 * packets come from another port, and answers to the old one are lost.
 */
export class RebindingProxy implements AsyncDisposable {
  readonly port: number;
  readonly #front: Socket;
  readonly #server: number;
  #back: Socket;
  #client: number | undefined;

  private constructor(front: Socket, back: Socket, server: number) {
    this.#front = front;
    this.#back = back;
    this.#server = server;
    this.port = front.address().port;
    front.on("message", (bytes, { port }) => {
      this.#client = port;
      this.#back.send(bytes, this.#server, "127.0.0.1");
    });
    this.#listenBehind(back);
  }

  static async open(server: number): Promise<RebindingProxy> {
    return new RebindingProxy(await openSocket(), await openSocket(), server);
  }

  async rebind(): Promise<void> {
    const before = this.#back;
    const back = await openSocket();
    this.#listenBehind(back);
    this.#back = back;
    await closeSocket(before);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([closeSocket(this.#front), closeSocket(this.#back)]);
  }

  #listenBehind(back: Socket): void {
    back.on("message", (bytes) => {
      if (this.#client !== undefined) this.#front.send(bytes, this.#client, "127.0.0.1");
    });
  }
}

async function openSocket(): Promise<Socket> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  // That a port is closed meanwhile is what happens behind a NAT.
  socket.on("error", () => {});
  return socket;
}

async function closeSocket(socket: Socket): Promise<void> {
  const closed = once(socket, "close");
  socket.close();
  await closed;
}
