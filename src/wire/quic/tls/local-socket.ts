import { randomBytes, timingSafeEqual } from "node:crypto";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { background } from "../../../base/background.ts";

/**
 * Two programs on one machine that have shown each other who they are over TLS go on over a Unix
 * socket: there the system keeps others out, and messages are neither encrypted nor packets. The socket
 * has a name and no file, so it ends with its program. Anybody on this machine can dial the name; only
 * who was told the secret over TLS is answered, and only by who knows the proof.
 */
const NAME = 16;
const SECRET = 32;
const PROOF = 32;
/** What a client says over TLS that stays there, because it is in another container, for example. */
const STAYS = Buffer.of(1);

/** Names without files are Linux's. */
export const HAS_LOCAL_SOCKETS = process.platform === "linux";

export interface LocalSocketLimits {
  readonly handshakeTimeout: number;
  readonly maxConnections: number;
}

/** A listener's local socket. */
export class LocalSocket {
  readonly #limits: LocalSocketLimits;
  readonly #name = randomBytes(NAME);
  readonly #server: Server;
  /** Those that were offered it over TLS, by their secrets. */
  readonly #offers = new Map<string, (socket: Socket) => void>();
  /** Those that have not said a secret yet, the oldest first. */
  readonly #arriving = new Set<Socket>();

  private constructor(limits: LocalSocketLimits) {
    this.#limits = limits;
    this.#server = createServer((socket) => background(this.#arrived(socket), "A local socket"));
  }

  /** Undefined where this program may not, or cannot, have one. */
  static async open(limits: LocalSocketLimits): Promise<LocalSocket | undefined> {
    if (!HAS_LOCAL_SOCKETS) return undefined;
    const local = new LocalSocket(limits);
    const listening = Promise.withResolvers<void>();
    try {
      local.#server.once("error", listening.reject).listen(pathOf(local.#name), listening.resolve);
      await listening.promise;
    } catch {
      return undefined;
    }
    local.#server.on("error", () => {});
    return local;
  }

  /** Offers it to a client. Returns what both go on with: a local socket, or the one that they have. */
  async offer(to: TLSSocket): Promise<Socket> {
    const secret = randomBytes(SECRET);
    const proof = randomBytes(PROOF);
    const key = secret.toString("hex");
    const came = Promise.withResolvers<Socket>();
    this.#offers.set(key, (socket) => {
      socket.write(proof);
      came.resolve(socket);
    });
    const late = setTimeout(() => to.destroy(), this.#limits.handshakeTimeout);
    try {
      to.write(Buffer.concat([this.#name, secret, proof]));
      const chosen = await Promise.race([came.promise, take(to, STAYS.length).then(() => to)]);
      if (chosen !== to) to.destroy();
      return chosen;
    } finally {
      clearTimeout(late);
      this.#offers.delete(key);
    }
  }

  /** Connections that both go on with are not its own any more. */
  close(): void {
    this.#server.close();
    for (const socket of this.#arriving) socket.destroy();
  }

  async #arrived(socket: Socket): Promise<void> {
    this.#arriving.add(socket);
    socket.on("error", () => {});
    const late = setTimeout(() => socket.destroy(), this.#limits.handshakeTimeout);
    const [oldest] = this.#arriving;
    if (this.#arriving.size > this.#limits.maxConnections) oldest?.destroy();
    try {
      const key = (await take(socket, SECRET)).toString("hex");
      const offer = this.#offers.get(key);
      this.#offers.delete(key);
      if (offer === undefined) socket.destroy();
      else offer(socket);
    } catch {
      // It has hung up, or was cut off.
    } finally {
      clearTimeout(late);
      this.#arriving.delete(socket);
    }
  }
}

/**
 * Takes a listener's offer. Returns what both go on with: a local socket, or the one that they have.
 * Fails if the listener hangs up.
 */
export async function takeOffer(tls: TLSSocket): Promise<Socket> {
  const offer = await take(tls, NAME + SECRET + PROOF);
  const proof = offer.subarray(NAME + SECRET);
  const local = createConnection(pathOf(offer.subarray(0, NAME))).on("error", () => {});
  const giveUp = (): void => {
    local.destroy();
  };
  tls.once("close", giveUp);
  try {
    local.write(offer.subarray(NAME, NAME + SECRET));
    const said = await take(local, PROOF);
    if (!timingSafeEqual(said, proof)) throw new Error("Somebody else answers at that name.");
    tls.off("close", giveUp).destroy();
    return local;
  } catch {
    local.destroy();
    if (tls.destroyed) throw tls.errored ?? hungUp();
    tls.off("close", giveUp).write(STAYS);
    return tls;
  }
}

function pathOf(name: Buffer): string {
  return `\0trunkline-${name.toString("hex")}`;
}

/** The next bytes of a socket. It pauses then, and what follows stays in it. */
async function take(socket: Socket, length: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let bytes = Buffer.alloc(0);
  const look = (more: Buffer): void => {
    bytes = Buffer.concat([bytes, more]);
    if (bytes.length < length) return;
    socket.off("data", look).pause();
    if (bytes.length > length) socket.unshift(bytes.subarray(length));
    resolve(bytes.subarray(0, length));
  };
  const closed = (): void => reject(hungUp());
  socket.on("data", look).once("error", reject).once("end", closed).once("close", closed).resume();
  try {
    return await promise;
  } finally {
    socket.off("data", look).off("error", reject).off("end", closed).off("close", closed);
  }
}

function hungUp(): Error {
  return Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" });
}
