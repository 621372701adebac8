import { statSync } from "node:fs";
import { connect, type Server, type Socket } from "node:net";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { isOtherMachine } from "../../base/private-address.ts";
import type { ConfinedPlugin, ConfinePlugin, PluginConfinement } from "../plugin/plugin-process.ts";
import { tryOut } from "../../sandbox/bubblewrap.ts";
import { EgressProxy, type EgressOptions, joinSockets } from "../../sandbox/egress-proxy.ts";
import { portOf } from "../../sandbox/own-network.ts";
import { openPluginSandbox, serviceSockets } from "../../sandbox/plugin-sandbox.ts";
import { remedyFor, thisMachine } from "../../sandbox/remedy.ts";
import { sandboxPrograms } from "../../sandbox/open/local-sandbox.ts";

export interface ConfinePluginsOptions {
  /** With `off`, a person has decided that no plugin is confined. */
  readonly sandbox: "auto" | "on" | "off";
  readonly data: string;
  readonly log: Log;
  /** Other rules of the proxy. */
  readonly egress?: Partial<EgressOptions>;
  /** The programs that make a sandbox; found in the system when left out. */
  readonly programs?: ReturnType<typeof sandboxPrograms>;
}

/** Refused hosts of one plugin that are logged. */
const MOST_LOGGED = 100;

/**
 * Keeps each plugin to its permissions: in a sandbox it reaches the bus, the approved hosts and the
 * approved files, and no other socket of this machine. Where there is no sandbox, it is not started.
 */
export function confinePlugins(options: ConfinePluginsOptions): ConfinePlugin {
  const { sandbox, log } = options;
  const warned = new Set<string>();
  /** A program has run in a sandbox, so this machine can make one. */
  let isTriedOut = false;
  return async (plugin) => {
    const { id } = plugin;
    if (sandbox === "off") {
      if (!warned.has(id)) log.warn("plugin.not-limited", { plugin: id, why: OFF });
      warned.add(id);
      return undefined;
    }
    refuseUnreadable(plugin);
    try {
      const confined = await confinePlugin(plugin, options, isTriedOut);
      isTriedOut = true;
      return confined;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      const why = `It is not started, because it cannot be kept to its permissions: ${error.message}`;
      const next = isTriedOut ? "" : ` ${remedyFor(error.message, thisMachine())}`;
      throw new TrunklineError("unavailable", why + next, { cause: error });
    }
  };
}

const OFF = "`bus.sandbox` is `off`, so it runs with all of your rights";

async function confinePlugin(
  plugin: ConfinedPlugin,
  options: ConfinePluginsOptions,
  isTriedOut: boolean,
): Promise<PluginConfinement> {
  const { ports, read, write, run } = plugin;
  await using opening = new AsyncDisposableStack();
  const egress = opening.use(egressOf(plugin, options));
  const sandbox = opening.use(
    await openPluginSandbox({
      ...(options.programs ?? sandboxPrograms()),
      ...{ data: join(options.data, "sandbox"), egress, read, write },
      ports: [0, ...ports.keys()],
      // A program that it starts may use all files: nobody has limited that.
      seesAll: run,
      // Whoever reaches the sockets of a gateway may do what its owner may.
      hide: [...serviceSockets(process.env), options.data],
    }),
  );
  if (!isTriedOut) {
    // A machine may allow only a part of it, or lack the libraries of Node.
    const node = [process.execPath, "--version"] as const;
    await tryOut(sandbox.wrap, node, 20_000, "A plugin cannot be run in a sandbox");
  }
  const { network } = sandbox;
  const [bus, ...others] = network.listeners;
  bus?.on("connection", plugin.bus);
  const targets = [...ports];
  for (const [index, listener] of others.entries()) {
    const [port, host] = targets[index] ?? [];
    forward(listener, { host, port });
  }
  const open = opening.move();
  return {
    busAddress: `tls://127.0.0.1:${portOf(bus)}`,
    confine: ({ command, args = [], env, cwd = "/", ...rest }) => ({
      ...rest,
      ...sandbox.wrap({ command, args, env, cwd }),
    }),
    connect: (to, signal) => network.connect(to, signal),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function egressOf(
  { id, hosts }: ConfinedPlugin,
  { log, egress }: ConfinePluginsOptions,
): EgressProxy {
  const refused = new Set<string>();
  return new EgressProxy({
    allowHosts: hosts,
    // Servers of this machine are reached only at the approved ports, not under names that lead here.
    forbids: (address) => !isOtherMachine(address),
    setting: `\`bus.plugins."${id}".permissions.hosts\``,
    refused: (host, why) => {
      if (refused.has(host) || refused.size >= MOST_LOGGED) return;
      refused.add(host);
      log.warn("plugin.host-refused", { plugin: id, host, why });
    },
    ...egress,
  });
}

/** Passes connections on to a port of this machine. */
function forward(
  listener: Server,
  target: { readonly host: string | undefined; readonly port: number | undefined },
): void {
  const { host = "", port = 0 } = target;
  listener.on("connection", (inside: Socket) => joinSockets(inside, connect({ host, port })));
}

/** Root in a sandbox has no rights to files of other users. It is not started without one for that. */
function refuseUnreadable({ read, write }: ConfinedPlugin): void {
  if (process.getuid?.() !== 0) return;
  for (const path of [...read, ...write]) {
    const { uid = 0, mode = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
    const needed = write.includes(path) ? 0o006 : 0o004;
    if (uid === 0 || (mode & needed) === needed) continue;
    const why = `Trunkline runs as root, and '${path}' belongs to another user`;
    const next = "Run Trunkline as that user, or let others read the path";
    throw new TrunklineError("unavailable", `It cannot be run in a sandbox: ${why}. ${next}.`);
  }
}

function isUnavailable(error: unknown): error is TrunklineError {
  return error instanceof TrunklineError && error.code === "unavailable";
}
