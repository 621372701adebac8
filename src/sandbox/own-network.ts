import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Server, type Socket } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { background } from "../base/background.ts";
import { Lazy } from "../base/lazy.ts";
import { TrunklineError } from "../base/errors.ts";
import {
  type ChildExit,
  type ChildOptions,
  type HandleMessage,
  OwnedChild,
} from "../base/process/child-process.ts";
import { untilAborted } from "../base/abort.ts";
import type { EgressProxy } from "./egress-proxy.ts";
import { PROXY_PORT } from "./sandbox.ts";

/** Milliseconds after the last connection, for another one. */
const LINGERS = 10_000;

interface PendingConnection {
  readonly port: number;
  readonly made: PromiseWithResolvers<Socket>;
}

/**
 * A process in another network (network-main.ts), which makes connections in it for us:
 * a socket stays in the network that it was made in, whoever has it. It ends by itself when it is not
 * needed for a while.
 */
class Dialler implements AsyncDisposable {
  /** Resolves when it is over, with its first words on stderr, if it said any. */
  readonly ended: Promise<{ readonly exit: ChildExit; readonly said: string | undefined }>;
  readonly #child: OwnedChild;
  readonly #wishes: PendingConnection[] = [];
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

  #made(socket: Socket | undefined, { problem = "" }: HandleMessage): void {
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

interface OwnNetworkOptions {
  readonly bwrap: string;
  readonly nsenter: string;
  readonly egress: EgressProxy;
  /** Ports of this network at which somebody else than the proxy listens; 0 for any. */
  readonly ports?: readonly number[];
}

/** Milliseconds; it usually takes a tenth of a second. */
const PATIENCE = 20_000;

/** Connections to one listener: each is an open file of ours. */
const MOST_CONNECTIONS = 1_024;

/** bubblewrap closes the descriptor to which it writes the pid of its child, so it gets a copy of stdout. */
const SCRIPT = 'exec 8>&1; exec "$@"';

/**
 * A network namespace that the commands of a session share, or that a plugin has for itself. It has only
 * a loopback interface, with the proxy on it. Open descriptors keep it, not a process: no command can end
 * it, and a reused pid cannot lead to another network.
 */
export class OwnNetwork implements AsyncDisposable {
  /** The beginning of a command line that runs in this network. */
  readonly enter: readonly [string, ...string[]];
  /** The listeners at the ports that were asked for, in that order. They are closed with the network. */
  readonly listeners: readonly Server[];
  readonly #files: readonly number[];
  #dialler: Promise<Dialler>;
  #isOver = false;

  private constructor(
    { nsenter }: OwnNetworkOptions,
    listeners: readonly Server[],
    dialler: Dialler,
    [user, net]: readonly [number, number],
  ) {
    const [, ...others] = listeners;
    this.listeners = others;
    for (const listener of listeners) listener.maxConnections = MOST_CONNECTIONS;
    this.#files = [user, net];
    this.#dialler = Promise.resolve(dialler);
    const file = (fd: number): string => `/proc/${process.pid}/fd/${fd}`;
    this.enter = [nsenter, `--user=${file(user)}`, `--net=${file(net)}`, "--preserve-credentials"];
  }

  /** Throws "unavailable" if this machine does not allow it, and "timeout" if it takes too long. */
  static async open(options: OwnNetworkOptions): Promise<OwnNetwork> {
    const { bwrap, egress, ports = [] } = options;
    const taken = Promise.withResolvers<void>();
    const listeners: Server[] = [];
    const code = await helper([PROXY_PORT, ...ports]);
    const dialler = await Dialler.start(
      { command: "/bin/sh", args: ["-c", SCRIPT, "sh", bwrap, ...NAMESPACES, "--", ...code] },
      (listener) => {
        if (listeners.push(listener) > ports.length) taken.resolve();
      },
    );
    let isLate = false;
    using _ = setTimeout(() => {
      isLate = true;
      dialler.kill();
    }, PATIENCE);
    try {
      const ended = dialler.ended.then(({ exit, said = `bubblewrap ended with ${exit}` }) => {
        throw isLate ? late() : unavailable(said);
      });
      ended.catch(() => {});
      const ready = Promise.all([taken.promise, childIn(dialler.stdout)]);
      const [, pid] = await Promise.race([ready, ended]);
      const user = openSync(`/proc/${pid}/ns/user`, "r");
      const net = openSync(`/proc/${pid}/ns/net`, "r");
      const [proxy] = listeners;
      if (proxy !== undefined) egress.serve(proxy);
      dialler.linger();
      return new OwnNetwork(options, listeners, dialler, [user, net]);
    } catch (error) {
      for (const listener of listeners) listener.close();
      await dialler[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Connects to a program that listens in this network. Throws "unavailable" if none does. */
  async connect(port: number, signal?: AbortSignal): Promise<Socket> {
    signal?.throwIfAborted();
    const connecting = this.#connect(port);
    try {
      return await untilAborted(connecting, signal);
    } catch (error) {
      connecting.then((socket) => socket.destroy()).catch(() => {});
      throw error;
    }
  }

  /** Ends the process that has made the network; another one is started if it is needed. */
  async rest(): Promise<void> {
    await (await this.#dialler.catch(() => undefined))?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.rest();
    for (const listener of this.listeners) listener.close();
    for (const file of this.#files) closeSync(file);
  }

  async #connect(port: number): Promise<Socket> {
    const dialler = await this.#running();
    this.#refuseIfOver();
    return dialler.connect(port);
  }

  async #running(): Promise<Dialler> {
    const present = this.#dialler;
    const dialler = await present.catch(() => undefined);
    if (dialler?.isOver === false) return dialler;
    const words = await helper([]);
    this.#refuseIfOver();
    const [command, ...args] = [...this.enter, "--", ...words];
    if (this.#dialler === present) this.#dialler = Dialler.start({ command, args }, () => {});
    return this.#dialler;
  }

  /** Its descriptors are closed then, and their numbers may be those of another network. */
  #refuseIfOver(): void {
    if (!this.#isOver) return;
    throw new TrunklineError("closed", "Cannot connect to another network: it is closed.");
  }
}

/** The port of a listener; 0 if there is none. */
export function portOf(listener: Server | undefined): number {
  const address = listener?.address();
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

/** Filled in by the bundler: the code of network-main.ts. */
declare const __TRUNKLINE_SANDBOX_NETWORK__: string | undefined;

/** In the sources, types are stripped once: loading what strips them takes 100 ms of each start. */
const network = new Lazy(async () => {
  if (typeof __TRUNKLINE_SANDBOX_NETWORK__ === "string") return __TRUNKLINE_SANDBOX_NETWORK__;
  const code = await readFile(join(import.meta.dirname, "network-main.ts"), "utf8");
  return process.getBuiltinModule("node:module").stripTypeScriptTypes(code);
});

/** The command line of network-main.ts, to hand out listeners and connections. */
async function helper(ports: readonly number[]): Promise<string[]> {
  const flags = ["--no-warnings", "--input-type=module", "--eval", await network.get(), "--"];
  return [process.execPath, ...flags, ...ports.map(String)];
}

/**
 * It uses the machine's devices: for new ones bubblewrap would create a second user namespace, and the
 * first one has to own the network. Only our own code runs here.
 */
const NAMESPACES = [
  ...["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"],
  ...["--die-with-parent", "--new-session", "--cap-drop", "ALL"],
  ...["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--info-fd", "8"],
];

/** The pid of bubblewrap's child, which is in the new namespaces. */
function childIn(stdout: Readable): Promise<number> {
  return new Promise((resolve) => {
    let said = "";
    stdout.setEncoding("utf8").on("data", (part: string) => {
      said += part;
      const [, pid] = /"child-pid": (\d+)/.exec(said) ?? [];
      if (pid !== undefined) resolve(Number(pid));
    });
  });
}

/** This machine may well allow it, and is only busy. */
function late(): TrunklineError {
  const why = `it took longer than ${PATIENCE / 1000} s`;
  return new TrunklineError("timeout", `Cannot create a network for a sandbox: ${why}.`);
}

function unavailable(why: string): TrunklineError {
  return new TrunklineError("unavailable", `Cannot create a network for a sandbox: ${why}.`);
}
