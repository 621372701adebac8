import { existsSync, mkdirSync } from "node:fs";
import { isInside } from "../base/file/path.ts";
import { homeOf } from "../base/process/environment.ts";
import { bubblewrapProgram, OWN_USERS, type Program } from "./bubblewrap.ts";
import type { CommandSandboxOptions } from "./command-sandbox.ts";
import type { FileView } from "./file-view.ts";
import { openNetwork } from "./own-network.ts";
import { PROXY_VARIABLES } from "./sandbox.ts";
import { makeOwnFolder, mountsOf, removeSandboxFolder } from "./sandbox-folder.ts";
import { namedFiles, realPathOf, systemFiles } from "./system-files.ts";

/** Sockets of privileged services that act on requests, and what such services run. */
const SERVICES = [
  ...["/var/lib/lxd/unix.socket", "/var/snap/lxd/common/lxd", "/var/lib/incus/unix.socket"],
  ...["/var/lib/docker", "/var/lib/libvirt", "/var/spool/cron"],
];

/** Sockets of services that act on requests, except those in folders that are empty in the sandbox anyway. */
export function serviceSockets(env: NodeJS.ProcessEnv): string[] {
  return [...SERVICES, ...socketsIn(env)];
}

/** Sockets that variables name, such as `unix:///home/ada/docker.sock`. */
function socketsIn(env: NodeJS.ProcessEnv): string[] {
  return [env.SSH_AUTH_SOCK, env.DOCKER_HOST, env.DBUS_SESSION_BUS_ADDRESS].flatMap((value) => {
    const [, path] = /^(?:unix:(?:\/\/|path=))?(\/[^,;]*)/.exec(value ?? "") ?? [];
    return path === undefined ? [] : [path];
  });
}

interface PluginSandboxOptions extends Pick<
  CommandSandboxOptions,
  "data" | "bwrap" | "nsenter" | "egress"
> {
  /** Ports of its network at which others than the proxy listen; 0 for any. */
  readonly ports: readonly number[];
  /** Paths that are there in addition to the system's. */
  readonly read: readonly string[];
  /** Paths that can be written, too. One that does not exist is made as a folder. */
  readonly write: readonly string[];
  /** Whether all other files of the machine are there, too, and can be written. */
  readonly seesAll: boolean;
  /** Paths that are empty inside, also in those that are given. */
  readonly hide: readonly string[];
}

export type PluginSandbox = Awaited<ReturnType<typeof openPluginSandbox>>;

/**
 * The sandbox of one plugin: it reaches the network through a proxy, the listeners at some ports of its
 * own network, and no socket of the machine but those in folders that it was given. Throws "unavailable"
 * if this machine does not allow it.
 */
export async function openPluginSandbox(options: PluginSandboxOptions) {
  const { data, bwrap, nsenter, egress, ports, write } = options;
  // Only paths that exist can be mounted.
  for (const path of write) if (!existsSync(path)) mkdirSync(path, { recursive: true });
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  await using opening = new AsyncDisposableStack();
  const folder = await makeOwnFolder(data, "plugin", { name: "plugin", uid, gid, home: "/tmp" });
  opening.defer(() => removeSandboxFolder(folder));
  const network = opening.use(await openNetwork({ bwrap, nsenter, egress, ports }));
  /** How to start the plugin in the sandbox. */
  const wrap = ({ command, args, env }: Program): Program => {
    const start = bubblewrapProgram({
      bwrap: [...network.enter, "--", bwrap],
      more: OWN_USERS,
      folder,
      view: viewOf(options, folder, env),
      cwd: "/",
      program: { command, args, cwd: "/" },
    });
    return { ...start, env: { ...env, ...PROXY_VARIABLES, TMPDIR: "/tmp" } };
  };
  const open = opening.move();
  return { network, wrap, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

function viewOf(
  { read, write, seesAll, hide }: PluginSandboxOptions,
  folder: string,
  env: NodeJS.ProcessEnv,
): FileView {
  const existing = (path: string): string[] => [realPathOf(path) ?? []].flat();
  const given = [process.execPath, ...read, ...write].filter((it) => !isInside(it, "/proc"));
  const named = namedFiles(env, homeOf(env));
  const seen = [...given.flatMap(existing), ...systemFiles(), ...named.map(({ from }) => from)];
  const written = [...(seesAll ? ["/"] : []), ...write.flatMap(existing)];
  const isAll = [...seen, ...written].includes("/");
  // The path as it is written may lead through links that are not there inside.
  const also = given.flatMap((at) =>
    existing(at).map((from) => ({ at, from, isWritable: write.includes(at) })),
  );
  return {
    own: mountsOf(folder).filter(({ at }) => !isAll || at !== "/etc"),
    read: seen,
    write: written,
    also: isAll ? [] : [...also, ...named].filter(({ at, from }) => at !== from),
    hide: [...(isAll ? ["/run"] : []), ...hide].flatMap(existing),
    mounts: [],
  };
}
