import { closeSync, openSync } from "node:fs";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Readable } from "node:stream";

import { TrunklineError } from "../base/errors.ts";
import { OwnedChild } from "../base/process/child-process.ts";
import type { EgressProxy } from "./egress-proxy.ts";
import type { Entry } from "./enter-main.ts";
import { PROXY_VARIABLES } from "./sandbox.ts";

export interface OwnNetworkOptions {
  readonly bwrap: string;
  readonly nsenter: string;
  /** The file of the code that runs in a sandbox first (enter-main.ts). */
  readonly enter: string;
  readonly egress: EgressProxy;
  /** Ports of this network at which somebody else than the proxy listens; 0 for any. */
  readonly ports?: readonly number[];
}

/** Milliseconds; it usually takes a tenth of a second. */
const PATIENCE = 20_000;

/** bubblewrap closes the descriptor to which it writes the pid of its child, so it gets a copy of stdout. */
const SCRIPT = 'exec 8>&1; exec "$@"';

/**
 * A network namespace that the commands of a session share. It has only a loopback interface, with the
 * proxy on it. Open descriptors keep it, not a process: no command can end it, and a reused pid cannot
 * lead to another network.
 */
export class OwnNetwork implements Disposable {
  /** The address of the proxy, as programs in this network reach it. */
  readonly proxy: string;
  /** The beginning of a command line that runs in this network. */
  readonly enter: readonly string[];
  /** The listeners at the ports that were asked for, in that order. They are closed with the network. */
  readonly listeners: readonly Server[];
  readonly #files: readonly number[];

  private constructor(listeners: readonly Server[], nsenter: string, user: number, net: number) {
    const [proxy, ...others] = listeners;
    const { port } = proxy?.address() as AddressInfo;
    this.proxy = `http://127.0.0.1:${port}`;
    this.listeners = others;
    this.#files = [user, net];
    const file = (fd: number): string => `/proc/${process.pid}/fd/${fd}`;
    this.enter = [nsenter, `--user=${file(user)}`, `--net=${file(net)}`, "--preserve-credentials"];
  }

  /** Throws "unavailable" if this machine does not allow it. */
  static async open(options: OwnNetworkOptions): Promise<OwnNetwork> {
    const { bwrap, nsenter, enter, egress, ports = [] } = options;
    const taken = Promise.withResolvers<void>();
    const listeners: Server[] = [];
    const errors: string[] = [];
    // It waits for the end of its input, so that it still runs while we open its namespaces.
    const entry: Entry = { program: "/bin/cat", args: [], cwd: "/", proxyVariables: {}, ports };
    const node = [process.execPath, "--experimental-ffi", "--no-warnings", enter];
    const child = await OwnedChild.start({
      command: "/bin/sh",
      args: ["-c", SCRIPT, "sh", bwrap, ...NAMESPACES, "--", ...node, JSON.stringify(entry)],
      env: { PATH: process.env.PATH },
      cwd: "/",
      stderr: (line) => errors.push(line),
      takes: (listener) => {
        if (listeners.push(listener as Server) > ports.length) taken.resolve();
      },
    });
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill();
    }, PATIENCE);
    try {
      const ended = child.exit.then((exit) => {
        if (isLate) throw late();
        throw unavailable(errors[0] ?? `bubblewrap ended with ${exit}`);
      });
      ended.catch(() => {});
      const ready = Promise.all([taken.promise, childIn(child.stdout)]);
      const [, pid] = await Promise.race([ready, ended]);
      const user = openSync(`/proc/${pid}/ns/user`, "r");
      const net = openSync(`/proc/${pid}/ns/net`, "r");
      const [proxy] = listeners;
      if (proxy !== undefined) egress.serve(proxy);
      return new OwnNetwork(listeners, nsenter, user, net);
    } catch (error) {
      for (const listener of listeners) listener.close();
      throw error;
    } finally {
      clearTimeout(timer);
      await child.end();
    }
  }

  /** Environment variables that lead programs to the proxy. */
  get variables(): Record<string, string> {
    const pairs = Object.entries(PROXY_VARIABLES);
    return Object.fromEntries(
      pairs.map(([name, value]) => [name, value.replace("PROXY", this.proxy)]),
    );
  }

  /** Connects to a program that listens in this network. Throws "unavailable" if none does. */
  async connect(port: number, signal?: AbortSignal): Promise<Socket> {
    const [command = "", ...args] = [...this.enter, "--", process.execPath, ...CONNECT, `${port}`];
    const taken = Promise.withResolvers<Socket>();
    const errors: string[] = [];
    await using child = await OwnedChild.start({
      ...{ command, args, env: { PATH: process.env.PATH }, cwd: "/" },
      stderr: (line) => errors.push(line),
      takes: (socket) => taken.resolve(socket as Socket),
    });
    const stop = (): void => child.kill();
    signal?.addEventListener("abort", stop, { once: true });
    const timer = setTimeout(stop, PATIENCE);
    try {
      const ended = child.exit.then(() => {
        signal?.throwIfAborted();
        const why = errors[0] ?? "it took too long";
        throw new TrunklineError("unavailable", `Cannot connect to port ${port} there: ${why}`);
      });
      ended.catch(() => {});
      return await Promise.race([taken.promise, ended]);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }

  [Symbol.dispose](): void {
    for (const listener of this.listeners) listener.close();
    for (const file of this.#files) closeSync(file);
  }
}

/** A socket stays in the network that it was made in, whoever gets it. */
const CONNECT = [
  ...["--no-warnings", "--eval"],
  `const socket = require("node:net").connect(Number(process.argv[1]), "127.0.0.1");
  socket.on("error", ({ message }) => { console.error(message); process.exit(1); });
  socket.on("connect", () => process.send({ isLast: true }, socket));`,
];

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
