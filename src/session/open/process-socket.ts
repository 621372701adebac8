import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync, rmSync } from "node:fs";
import { chmod, mkdir, rename } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { basename, dirname } from "node:path";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { peerUid } from "../../base/process/peer-uid.ts";
import { OwnerToken } from "../../store/access/access-token.ts";
import type { ChannelLimits } from "../../wire/channel.ts";
import {
  greet,
  type GreetedConnection,
  serveGreeted,
  type ServeGreetedOptions,
  type Welcome,
} from "../../wire/channel/greeting.ts";

/** Milliseconds. A stopped process (SIGSTOP) accepts no connection once its queue is full. */
const CONNECT_TIMEOUT = 2_000;

/** Part of the proof, so that it is useless elsewhere. The token itself never leaves its file. */
const PURPOSE = "a process of the owner of this data folder";

export interface ProcessSocketOptions<G, W extends Welcome> extends ServeGreetedOptions<G, W> {
  /** The data folder that the processes share. */
  readonly data: string;
  /** Where the socket is. */
  readonly path: string;
}

/**
 * A Unix socket on which a process serves others of the same user and data folder. The kernel confirms the
 * user, and each greeting contains a proof that only that user can make, so the other claims of the greeting
 * are trusted.
 */
export class ProcessSocket<G extends object, W extends Welcome> implements AsyncDisposable {
  readonly #options: ProcessSocketOptions<G, W>;
  readonly #own: OwnProcess;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #closed = Promise.withResolvers<void>();

  private constructor(options: ProcessSocketOptions<G, W>) {
    this.#options = options;
    this.#own = new OwnProcess(options.data);
    this.#server = createServer((socket) => {
      background(this.#accept(socket), "Accepting another process");
    });
    this.#server.on("close", this.#closed.resolve);
  }

  static async open<G extends object, W extends Welcome = Welcome>(
    options: ProcessSocketOptions<G, W>,
  ): Promise<ProcessSocket<G, W>> {
    const socket = new ProcessSocket(options);
    await socket.#listen();
    return socket;
  }

  /** Accepts nobody any more. */
  leave(): void {
    rmSync(this.#options.path, { force: true });
    this.#server.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) this.leave();
    for (const socket of this.#sockets) socket.destroy();
    await this.#closed.promise;
  }

  /** Listens under another name first: a socket that refuses under its final name counts as a dead process. */
  async #listen(): Promise<void> {
    const { path } = this.#options;
    await this.#own.prepare();
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    using name = new SocketName(`${path}.new`);
    this.#server.unref();
    this.#server.listen(name.path);
    await once(this.#server, "listening");
    await chmod(name.path, 0o600);
    await rename(`${path}.new`, path);
  }

  async #accept(socket: Socket): Promise<void> {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    try {
      await mustBeOwn(socket);
    } catch (error) {
      this.#options.log.warn("process.refused", { error });
      socket.destroy();
      return;
    }
    await serveGreeted<G, W | Welcome>(socket, {
      ...this.#options,
      welcome: (greeting) => {
        const refused = this.#own.refusal(greeting);
        return refused === undefined ? this.#options.welcome(greeting) : { refused };
      },
    });
  }
}

export interface ReachProcessOptions {
  readonly data: string;
  readonly path: string;
  readonly greeting: object;
  readonly limits?: Partial<ChannelLimits>;
}

/** Connects to the socket of another process, which must be of the same user, and greets it. */
export async function reachProcess<W extends Welcome>({
  data,
  path,
  greeting,
  limits,
}: ReachProcessOptions): Promise<GreetedConnection<W>> {
  using name = new SocketName(path);
  const socket = connect(name.path);
  const giveUp = (): void => {
    if (socket.connecting) socket.destroy(new Error("it accepts no connection"));
  };
  // If this process was busy, it hears only now that it is connected.
  using _late = setTimeout(() => setImmediate(giveUp), CONNECT_TIMEOUT);
  try {
    await once(socket, "connect");
    await mustBeOwn(socket);
    return greet<W>(socket, { ...greeting, proof: new OwnProcess(data).proof }, limits);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** The proof by which processes of one data folder recognize each other. */
export class OwnProcess {
  readonly #token: OwnerToken;

  constructor(data: string) {
    this.#token = new OwnerToken(data);
  }

  /** Creates the secret, if there is none. The process that listens does this. */
  async prepare(): Promise<void> {
    await this.#token.ensure();
  }

  /** The proof that a process sends in its greeting. */
  get proof(): string {
    const proof = this.#expected();
    if (proof !== undefined) return proof;
    const why = "it is not there, or others than its owner can read it";
    const says = `Cannot read the secret '${this.#token.path}': ${why}. \`trunkline serve\` makes another.`;
    throw new TrunklineError("untrusted", says);
  }

  /** Why the proof of another process is refused, in words for that process; undefined if it is accepted. */
  refusal({ proof }: { readonly proof?: unknown }): string | undefined {
    if (proof === undefined) {
      return "This process is of an older version of Trunkline, which does not show whose it is. Restart it, and whatever program started it.";
    }
    const expected = this.#expected();
    if (typeof proof === "string" && expected !== undefined && isEqual(proof, expected)) {
      return undefined;
    }
    return `This process does not know the secret in '${this.#token.path}'. Restart it as the user whose folder that is.`;
  }

  #expected(): string | undefined {
    const token = this.#token.read();
    return token === undefined
      ? undefined
      : createHmac("sha256", token).update(PURPOSE).digest("hex");
  }
}

function isEqual(one: string, other: string): boolean {
  const [said, known] = [Buffer.from(one), Buffer.from(other)];
  return said.length === known.length && timingSafeEqual(said, known);
}

/**
 * Throws "untrusted" where the process at the other end of a Unix socket is another user's. Where the
 * system does not tell, the secret alone decides.
 */
async function mustBeOwn(socket: Socket): Promise<void> {
  const uid = await peerUid(socket);
  // Root could act as any user anyway.
  if (uid === undefined || uid === 0 || uid === process.getuid?.()) return;
  const who = uid === -1 ? "the connection is over" : `it belongs to user ${uid}`;
  throw new TrunklineError("untrusted", `The process at the other end is not ours: ${who}.`);
}

/** The most bytes of a Unix socket's path. Systems allow 104 or 108, with a zero at the end. */
const LONGEST_NAME = 103;

/**
 * A path for a socket that the system accepts. A path that is too long is shortened through an open
 * descriptor of its folder, which works on Linux only.
 */
export class SocketName implements Disposable {
  readonly path: string;
  #folder: number | undefined;

  constructor(path: string) {
    if (Buffer.byteLength(path) <= LONGEST_NAME || process.platform !== "linux") {
      this.path = path;
      return;
    }
    this.#folder = openSync(dirname(path), "r");
    this.path = `/proc/self/fd/${this.#folder}/${basename(path)}`;
  }

  [Symbol.dispose](): void {
    if (this.#folder !== undefined) closeSync(this.#folder);
    this.#folder = undefined;
  }
}
