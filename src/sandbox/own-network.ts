import { closeSync, openSync } from "node:fs";
import type { Server } from "node:net";
import type { Readable } from "node:stream";

import { TrunklineError } from "../base/errors.ts";
import { OwnedChild } from "../base/process/child-process.ts";
import type { EgressProxy } from "./egress-proxy.ts";
import type { Entry } from "./enter-main.ts";

export interface OwnNetworkOptions {
  readonly bwrap: string;
  readonly nsenter: string;
  /** The file of the code that runs in a sandbox first (enter-main.ts). */
  readonly enter: string;
  readonly egress: EgressProxy;
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
  readonly #files: readonly number[];

  private constructor(proxy: string, nsenter: string, user: number, net: number) {
    this.proxy = proxy;
    this.#files = [user, net];
    const file = (fd: number): string => `/proc/${process.pid}/fd/${fd}`;
    this.enter = [nsenter, `--user=${file(user)}`, `--net=${file(net)}`, "--preserve-credentials"];
  }

  /** Throws "unavailable" if this machine does not allow it. */
  static async open({ bwrap, nsenter, enter, egress }: OwnNetworkOptions): Promise<OwnNetwork> {
    const taken = Promise.withResolvers<Server>();
    const errors: string[] = [];
    // It waits for the end of its input, so that it still runs while we open its namespaces.
    const entry: Entry = { program: "/bin/cat", args: [], cwd: "/", proxyVariables: {} };
    const node = [process.execPath, "--experimental-ffi", "--no-warnings", enter];
    const child = await OwnedChild.start({
      command: "/bin/sh",
      args: ["-c", SCRIPT, "sh", bwrap, ...NAMESPACES, "--", ...node, JSON.stringify(entry)],
      env: { PATH: process.env.PATH },
      cwd: "/",
      stderr: (line) => errors.push(line),
      takes: (listener) => taken.resolve(listener as Server),
    });
    const timer = setTimeout(() => child.kill(), PATIENCE);
    try {
      const ended = child.exit.then((exit) => {
        throw unavailable(errors[0] ?? `bubblewrap ended with ${exit}`);
      });
      ended.catch(() => {});
      const ready = Promise.all([taken.promise, childIn(child.stdout)]);
      const [listener, pid] = await Promise.race([ready, ended]);
      const user = openSync(`/proc/${pid}/ns/user`, "r");
      const net = openSync(`/proc/${pid}/ns/net`, "r");
      egress.serve(listener);
      const { port } = listener.address() as { port: number };
      return new OwnNetwork(`http://127.0.0.1:${port}`, nsenter, user, net);
    } finally {
      clearTimeout(timer);
      await child.end();
    }
  }

  [Symbol.dispose](): void {
    for (const file of this.#files) closeSync(file);
  }
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

function unavailable(why: string): TrunklineError {
  return new TrunklineError("unavailable", `Cannot create a network for a sandbox: ${why}.`);
}
