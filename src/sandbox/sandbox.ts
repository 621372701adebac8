import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { chmod, chown, mkdir, rm } from "node:fs/promises";
import type { Server } from "node:net";
import { join } from "node:path";

import { homeOf } from "../base/process/environment.ts";
import { bubblewrapProgram, LAUNCHER, OWN_USERS, type Program } from "./bubblewrap.ts";
import { ControlGroup, type GroupLimits } from "./cgroup.ts";
import { SERVICE_PATH, type EgressProxy } from "./egress-proxy.ts";
import { FIRST_FD, type FileView } from "./file-view.ts";
import { type LandlockRights, type LandlockRules, launcher } from "./launcher.ts";
import type { SandboxParts } from "./probe.ts";
import { makeSandboxFolder, mountsOf } from "./sandbox-folder.ts";
import { namedFiles, realPathOf, SYSTEM, systemFiles } from "./system-files.ts";

export interface SandboxOptions {
  /** A unique name; letters, digits and dashes. */
  readonly name: string;
  /** A folder for the sandbox's own files. */
  readonly data: string;
  /** The parts that work here, as probed. */
  readonly parts: SandboxParts;
  /** Paths that can be written, at the same paths as outside. */
  readonly write: readonly string[];
  /** Further paths for some of these: paths that set-up wrote into files stay valid for agents. */
  readonly also?: readonly { readonly path: string; readonly at: string }[];
  /** Paths that can be read in addition to the system's programs, at the same paths as outside. */
  readonly read: readonly string[];
  /** Settings of the system that this sandbox shares with others (`makeSettings`). */
  readonly settings?: string | undefined;
  /** The folder for HOME. Without it, HOME is new and is removed with the sandbox. */
  readonly home?: string | undefined;
  readonly limits?: GroupLimits;
  /** The proxy; without it there is no network. */
  readonly egress?: EgressProxy | undefined;
  /** Variables of programs, of which those that make the sandbox know nothing: a repository may choose them. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The user that programs run as, if we run as root. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

/** How a program is started in a sandbox. */
export interface WrappedProgram extends Program {
  /** Takes the listener of the proxy, which the program sends over the channel of `child_process`. */
  readonly takes: ((listener: unknown) => void) | undefined;
}

/** The path of HOME in every sandbox, so that paths that set-up wrote into files stay valid for agents. */
const HOME = "/home/agent";

/** The variables of the channel to this process, which the program does not have. */
const OF_NODE = ["NODE_CHANNEL_FD", "NODE_CHANNEL_SERIALIZATION_MODE"];

/** Joins the control groups, and executes the remaining arguments. */
const SCRIPT =
  'for each in $1; do echo $$ >"$each/cgroup.procs" || exit 125; done; shift; exec "$@"';

export type Sandbox = Awaited<ReturnType<typeof openSandbox>>;

/**
 * Runs untrusted programs: in their own namespaces, with few files, few system calls, limited resources,
 * and no network except through a proxy. All of them end with it.
 */
export async function openSandbox(options: SandboxOptions) {
  const { data, name, limits = {}, user, egress, parts, variables } = options;
  await mkdir(data, { recursive: true, mode: 0o711 });
  const { uid, gid } = user ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const agent = { name: "agent", uid, gid, home: HOME };
  const folder = await makeSandboxFolder(data, `${name}-`, agent, options.settings);
  await chmod(folder, 0o711);
  await mkdir(join(folder, "home"), { mode: 0o700 });
  if (user !== undefined) {
    for (const own of ["home", "tmp", "var-tmp"]) await chown(join(folder, own), uid, gid);
  }
  const group = await ControlGroup.create(groupOf(name, user), limits);
  const view = viewOf(options, folder);
  /** How to start a program in the sandbox. Its environment is passed on, but for our own folders. */
  const wrap = (program: Program): WrappedProgram => {
    const all = { ...(egress === undefined ? {} : PROXY_VARIABLES), ...variables };
    const start = bubblewrapProgram({
      bwrap: ["/bin/sh", "-c", SCRIPT, "sh", group?.folders.join(" ") ?? "", parts.bwrap],
      more: [
        ...namespaces(user),
        ...[...Object.keys(all), ...OF_NODE].flatMap((it) => ["--unsetenv", it]),
      ],
      folder,
      view,
      launcher: () => openUnnamed(folder),
      inside: [...becoming(user), LAUNCHER],
    });
    using opened = new DisposableStack();
    for (const each of start.files) opened.defer(() => closeSync(each));
    const [, file = -1] = start.files;
    const { command, args, cwd } = program;
    const channel = FIRST_FD + start.files.length;
    const code = launcher({
      ...{ program: command, args, cwd, variables: all },
      listener: egress && { port: PROXY_PORT, channel },
      landlock: parts.landlock && landlockFor(parts.landlock, view),
    });
    // At a position, so that it is read from the beginning.
    if (writeSync(file, code, 0, code.length, 0) < code.length)
      throw new Error("The disk is full.");
    const env = { ...withoutOurFolders(program.env), HOME, TMPDIR: "/tmp" };
    const takes = egress && ((listener: unknown): void => egress.serve(listener as Server));
    opened.move();
    return { ...start, env, takes };
  };
  return {
    wrap,
    async [Symbol.asyncDispose](): Promise<void> {
      await group?.[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Ends the programs of a sandbox whose process was killed, and removes its control groups. */
export async function removeGroups(name: string, user: SandboxOptions["user"]): Promise<void> {
  await (await ControlGroup.left(groupOf(name, user)))[Symbol.asyncDispose]();
}

/** A file without a name: it holds a command line and variables, which may be secret. */
function openUnnamed(folder: string): number {
  const path = join(folder, `launcher-${crypto.randomUUID()}`);
  const file = openSync(path, "wx+", 0o600);
  rmSync(path);
  return file;
}

function landlockFor(rights: LandlockRights, { own, read, write }: FileView): LandlockRules {
  const writable = own.flatMap(({ at, isWritable }) => (isWritable ? [at] : []));
  return {
    rights,
    read: [...SYSTEM, "/etc", "/proc", "/dev", ...read],
    write: [...write, ...writable, "/dev/null", "/dev/zero", "/dev/tty", "/dev/shm"],
  };
}

/** Resolves all paths once, before any program runs that could replace one with a link. */
function viewOf(options: SandboxOptions, folder: string): FileView {
  const { write, also = [], read } = options;
  const named = namedFiles(process.env, homeOf(process.env));
  const own = (name: string): string => join(folder, name);
  return {
    own: [
      { at: HOME, from: followed(options.home ?? own("home")), isWritable: true },
      ...mountsOf(folder, options.settings),
    ],
    read: [
      ...[...systemFiles(), ...named.map(({ from }) => from)],
      ...[...read, process.execPath].map(followed),
    ],
    write: write.map(followed),
    also: [
      ...also.map(({ path, at }) => ({ at, from: followed(path), isWritable: true })),
      ...named.filter(({ at, from }) => at !== from),
    ],
    hide: [],
    mounts: [],
  };
}

function namespaces(user: SandboxOptions["user"]): string[] {
  if (user === undefined) return ["--unshare-net", ...OWN_USERS];
  return ["--unshare-net", ...TO_BECOME.flatMap((right) => ["--cap-add", right])];
}

/** The path without links. Those that are on it were made by whoever configured this server. */
function followed(path: string): string {
  return realPathOf(path) ?? path;
}

/** Where programs keep their files instead of in HOME. */
const IN_PLACE_OF_HOME = /^XDG_(?:(?:BIN|CACHE|CONFIG|DATA|STATE)_HOME|RUNTIME_DIR)$/;

/** Without what names folders of ours, which are not in the sandbox. What was configured stays. */
function withoutOurFolders(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name, value]) => !(IN_PLACE_OF_HOME.test(name) && value === process.env[name]),
    ),
  );
}

function groupOf(name: string, user: SandboxOptions["user"]): string {
  return `${name}-${user?.uid ?? process.getuid?.() ?? 0}`;
}

/** In a network that has only one loopback interface, outside of the ports that are picked for listeners. */
export const PROXY_PORT = 61_480;
/** The address of the proxy, as programs in a sandbox reach it. */
export const PROXY = `http://127.0.0.1:${PROXY_PORT}`;
const LOCAL = "localhost,127.0.0.1,::1";

export const PROXY_VARIABLES: Readonly<Record<string, string>> = {
  HTTP_PROXY: PROXY,
  HTTPS_PROXY: PROXY,
  ALL_PROXY: PROXY,
  http_proxy: PROXY,
  https_proxy: PROXY,
  all_proxy: PROXY,
  // Servers that a program starts in its own sandbox.
  NO_PROXY: LOCAL,
  no_proxy: LOCAL,
  /** Makes Node's own fetch use them. */
  NODE_USE_ENV_PROXY: "1",
  TRUNKLINE_SERVICES: `${PROXY}${SERVICE_PATH.slice(0, -1)}`,
};

/** Capabilities that root needs to change to another user, and loses afterwards. */
const TO_BECOME = ["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"];

function becoming(user: SandboxOptions["user"]): string[] {
  if (user === undefined) return [];
  const who = [`--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"];
  return ["/usr/bin/setpriv", ...who, "--bounding-set=-all", "--inh-caps=-all"];
}
