import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Server, type Socket } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { background } from "../base/background.ts";
import { Lazy } from "../base/lazy.ts";
import { TrunklineError } from "../base/errors.ts";
import { type ChildOptions, OwnedChild } from "../base/process/child-process.ts";
import { untilAborted } from "../base/abort.ts";
import type { EgressProxy } from "./egress-proxy.ts";
import { PROXY_PORT } from "./sandbox.ts";

/** Milliseconds after the last connection, for another one. */
const LINGERS = 10_000;

interface PendingConnection {
  readonly port: number;
  readonly made: PromiseWithResolvers<Socket>;
}

type Dialler = Awaited<ReturnType<typeof startDialler>>;

/**
 * A process in another network (network-main.ts), which makes connections in it for us:
 * a socket stays in the network that it was made in, whoever has it. It ends by itself when it is not
 * needed for a while. The listeners that it hands out go to `listening`.
 */
async function startDialler(
  options: Pick<ChildOptions, "command" | "args">,
  listening: (listener: Server) => void,
) {
  const errors: string[] = [];
  const wishes: PendingConnection[] = [];
  let idle: NodeJS.Timeout | undefined;
  let isEnding = false;
  const child = await OwnedChild.start({
    ...{ ...options, env: { PATH: process.env.PATH }, cwd: "/" },
    stderr: (line) => errors.push(line),
    takes: (handle, { problem = "" }) => {
      if (handle instanceof Server) return listening(handle);
      const { port = 0, made } = wishes.shift() ?? {};
      if (handle === undefined) made?.reject(unreachable(port, problem));
      else made?.resolve(handle as Socket);
      if (wishes.length === 0) linger();
    },
  });
  const ended = child.exit.then((exit) => {
    clearTimeout(idle);
    const [said] = errors;
    const why = said ?? `the process there ended with ${exit}`;
    for (const { port, made } of wishes.splice(0)) made.reject(unreachable(port, why));
    return { exit, said };
  });
  const end = async (): Promise<void> => {
    isEnding = true;
    clearTimeout(idle);
    await child.end();
  };

  /** Ends it if it is not used for a while. */
  function linger(): void {
    clearTimeout(idle);
    idle = setTimeout(() => background(end(), "Ending a dialler"), LINGERS).unref();
  }

  return {
    /** Resolves when it is over, with its first words on stderr, if it said any. */
    ended,
    linger,
    stdout: child.stdout,
    kill: () => child.kill(),

    /** Whether it makes no more connections. */
    get isOver() {
      return isEnding || child.isOver;
    },

    /** Connects to a port. Throws "unavailable" if nobody listens there. */
    connect(port: number): Promise<Socket> {
      clearTimeout(idle);
      const made = Promise.withResolvers<Socket>();
      wishes.push({ port, made });
      child.stdin.write(`${port}\n`);
      return made.promise;
    },

    [Symbol.asyncDispose]: end,
  };
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

export type OwnNetwork = Awaited<ReturnType<typeof openNetwork>>;

/**
 * A network namespace that the commands of a session share, or that a plugin has for itself. It has only
 * a loopback interface, with the proxy on it. Open descriptors keep it, not a process: no command can end
 * it, and a reused pid cannot lead to another network. Throws "unavailable" if this machine does not allow
 * it, and "timeout" if it takes too long.
 */
export async function openNetwork({ bwrap, nsenter, egress, ports = [] }: OwnNetworkOptions) {
  const taken = Promise.withResolvers<void>();
  const listeners: Server[] = [];
  const code = await helper([PROXY_PORT, ...ports]);
  const first = await startDialler(
    { command: "/bin/sh", args: ["-c", SCRIPT, "sh", bwrap, ...NAMESPACES, "--", ...code] },
    (listener) => {
      if (listeners.push(listener) > ports.length) taken.resolve();
    },
  );
  let isLate = false;
  using _ = setTimeout(() => {
    isLate = true;
    first.kill();
  }, PATIENCE);
  const files: number[] = [];
  try {
    const ended = first.ended.then(({ exit, said = `bubblewrap ended with ${exit}` }) => {
      throw isLate ? late() : unavailable(said);
    });
    ended.catch(() => {});
    const ready = Promise.all([taken.promise, childIn(first.stdout)]);
    const [, pid] = await Promise.race([ready, ended]);
    for (const kind of ["user", "net"]) files.push(openSync(`/proc/${pid}/ns/${kind}`, "r"));
  } catch (error) {
    for (const listener of listeners) listener.close();
    await first[Symbol.asyncDispose]();
    throw error;
  }
  const [proxy, ...others] = listeners;
  for (const listener of listeners) listener.maxConnections = MOST_CONNECTIONS;
  if (proxy !== undefined) egress.serve(proxy);
  first.linger();
  const [user, net] = files.map((file) => `/proc/${process.pid}/fd/${file}`);
  const into = [`--user=${user}`, `--net=${net}`, "--preserve-credentials"];
  const enter: readonly [string, ...string[]] = [nsenter, ...into];
  let dialler = Promise.resolve(first);
  let isOver = false;

  /** Its descriptors are closed then, and their numbers may be those of another network. */
  const refuseIfOver = (): void => {
    if (!isOver) return;
    throw new TrunklineError("closed", "Cannot connect to another network: it is closed.");
  };

  const running = async (): Promise<Dialler> => {
    const present = dialler;
    const known = await present.catch(() => undefined);
    if (known?.isOver === false) return known;
    const words = await helper([]);
    refuseIfOver();
    const [command, ...args] = [...enter, "--", ...words];
    if (dialler === present) dialler = startDialler({ command, args }, () => {});
    return dialler;
  };

  const reach = async (port: number): Promise<Socket> => {
    const known = await running();
    refuseIfOver();
    return known.connect(port);
  };

  /** Ends the process that has made the network; another one is started if it is needed. */
  const rest = async (): Promise<void> => {
    await (await dialler.catch(() => undefined))?.[Symbol.asyncDispose]();
  };

  return {
    /** The beginning of a command line that runs in this network. */
    enter,
    /** The listeners at the ports that were asked for, in that order. They are closed with the network. */
    listeners: others,
    rest,

    /** Connects to a program that listens in this network. Throws "unavailable" if none does. */
    async connect(port: number, signal?: AbortSignal): Promise<Socket> {
      signal?.throwIfAborted();
      const connecting = reach(port);
      try {
        return await untilAborted(connecting, signal);
      } catch (error) {
        connecting.then((socket) => socket.destroy()).catch(() => {});
        throw error;
      }
    },

    async [Symbol.asyncDispose](): Promise<void> {
      isOver = true;
      await rest();
      for (const listener of others) listener.close();
      for (const file of files) closeSync(file);
    },
  };
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
