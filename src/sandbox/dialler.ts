import { Server, type Socket } from "node:net";

import { background } from "../base/background.ts";
import { TrunklineError } from "../base/errors.ts";
import {
  type ChildExit,
  type ChildOptions,
  type HandedOut,
  OwnedChild,
} from "../base/process/child-process.ts";

/** Milliseconds after the last connection, for another one. */
const LINGERS = 10_000;

interface Wish {
  readonly port: number;
  readonly made: PromiseWithResolvers<Socket>;
}

/**
 * A process in another network (enter-main.ts without a program), which makes connections in it for us:
 * a socket stays in the network that it was made in, whoever has it. It ends by itself when it is not
 * needed for a while.
 */
export class Dialler implements AsyncDisposable {
  /** Resolves when it is over, with its first words on stderr, if it said any. */
  readonly ended: Promise<{ readonly exit: ChildExit; readonly said: string | undefined }>;
  readonly #child: OwnedChild;
  readonly #wishes: Wish[] = [];
  #idle: NodeJS.Timeout | undefined;
  #isEnding = false;

  private constructor(child: OwnedChild, errors: readonly string[]) {
    this.#child = child;
    this.ended = child.exit.then((exit) => {
      clearTimeout(this.#idle);
      const [said] = errors;
      const why = said ?? `the process there ended with ${exit}`;
      for (const { port, made } of this.#wishes.splice(0)) made.reject(unreachable(port, why));
      return { exit, said };
    });
  }

  /** Starts it. The listeners that it hands out go to `listening`. */
  static async start(
    options: Pick<ChildOptions, "command" | "args">,
    listening: (listener: Server) => void,
  ): Promise<Dialler> {
    const errors: string[] = [];
    const child = await OwnedChild.start({
      ...{ ...options, env: { PATH: process.env.PATH }, cwd: "/" },
      stderr: (line) => errors.push(line),
      takes: (handle, said) => {
        if (handle instanceof Server) listening(handle);
        else dialler.#made(handle as Socket | undefined, said);
      },
    });
    const dialler = new Dialler(child, errors);
    return dialler;
  }

  /** Whether it makes no more connections. */
  get isOver(): boolean {
    return this.#isEnding || this.#child.isOver;
  }

  get stdout(): OwnedChild["stdout"] {
    return this.#child.stdout;
  }

  /** Connects to a port. Throws "unavailable" if nobody listens there. */
  connect(port: number): Promise<Socket> {
    clearTimeout(this.#idle);
    const made = Promise.withResolvers<Socket>();
    this.#wishes.push({ port, made });
    this.#child.stdin.write(`${port}\n`);
    return made.promise;
  }

  /** Ends it if it is not used for a while. */
  linger(): void {
    clearTimeout(this.#idle);
    const end = (): void => background(this[Symbol.asyncDispose](), "Ending a dialler");
    this.#idle = setTimeout(end, LINGERS).unref();
  }

  kill(): void {
    this.#child.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    clearTimeout(this.#idle);
    await this.#child.end();
  }

  #made(socket: Socket | undefined, { problem = "" }: HandedOut): void {
    const { port = 0, made } = this.#wishes.shift() ?? {};
    if (socket === undefined) made?.reject(unreachable(port, problem));
    else made?.resolve(socket);
    if (this.#wishes.length === 0) this.linger();
  }
}

function unreachable(port: number, why: string): TrunklineError {
  const what = `Cannot connect to port ${port} in another network`;
  return new TrunklineError("unavailable", `${what}: ${why}.`);
}
