import { existsSync, lstatSync, readlinkSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { ControlGroup, type GroupLimits } from "./cgroup.ts";
import { SERVICE_PATH, type EgressProxy } from "./egress-proxy.ts";
import type { Entry } from "./enter-main.ts";
import type { SandboxParts } from "./probe.ts";
import { seccompFilter } from "./seccomp.ts";

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
  /** Whether all files of the machine can be read, except `hide`: for local sessions. */
  readonly seesAll?: boolean;
  /** Folders that are empty inside. */
  readonly hide?: readonly string[];
  /** The folder for HOME, and its path inside. Without it, HOME is new and is removed with the sandbox. */
  readonly home?: { readonly path: string; readonly at: string } | undefined;
  readonly limits?: GroupLimits;
  /** The proxy; without it there is no network. */
  readonly egress?: EgressProxy | undefined;
  /** Further environment variables for the proxy; `PROXY` in them stands for its address. */
  readonly proxyVariables?: Readonly<Record<string, string>>;
  /** The user that programs run as, if we run as root. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

/** A program to start, as requested or as it has to be started. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/** How a program is started in a sandbox. */
export interface WrappedProgram extends Program {
  /** It sends a listener over the channel of `child_process`, for which `serve` is called. */
  readonly egress: EgressProxy | undefined;
}

/** Filled in by the bundler: the code that runs first in a sandbox. */
declare const __TRUNKLINE_SANDBOX_ENTER__: string | undefined;

const isBundled = typeof __TRUNKLINE_SANDBOX_ENTER__ === "string";
export const ENTER = isBundled ? "enter.mjs" : "enter.ts";

/** Copied into the sandbox, because the files of our package may be invisible there, or gone. */
export async function enterCode(): Promise<string> {
  if (isBundled) return __TRUNKLINE_SANDBOX_ENTER__;
  return await readFile(join(import.meta.dirname, "enter-main.ts"), "utf8");
}

/** PATH in the sandbox. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt"];
const SETTINGS = [
  "/etc/alternatives",
  "/etc/ca-certificates",
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/localtime",
  "/etc/mime.types",
  "/etc/nsswitch.conf",
  "/etc/pki",
  "/etc/ssl",
];

/** Joins the control groups, opens the filter, and executes the remaining arguments. */
const SCRIPT =
  'for each in $1; do echo $$ >"$each/cgroup.procs" || exit 125; done; exec 9<"$2"; shift 2; exec "$@"';

const FILTER_FD = "9";

/**
 * Runs untrusted programs: in their own namespaces, with few files, few system calls, limited resources,
 * and no network except through a proxy. All of them end with it.
 */
export class Sandbox implements AsyncDisposable {
  /** The only folder beside the workspace that programs may write to: their HOME, as they see it. */
  readonly home: string;
  readonly #options: SandboxOptions;
  readonly #folder: string;
  readonly #group: ControlGroup | undefined;

  private constructor(options: SandboxOptions, folder: string, group: ControlGroup | undefined) {
    this.#options = options;
    this.#folder = folder;
    this.#group = group;
    this.home = options.home?.at ?? join(folder, "home");
  }

  static async open(options: SandboxOptions): Promise<Sandbox> {
    const { data, name, limits = {}, user } = options;
    await mkdir(data, { recursive: true, mode: 0o711 });
    const folder = await mkdtemp(join(data, `${name}-`));
    const { chmod, chown } = process.getBuiltinModule("node:fs/promises");
    await chmod(folder, 0o711);
    const own = join(folder, "home");
    await mkdir(own, { mode: 0o700 });
    const { uid, gid } = user ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    if (user !== undefined) await chown(own, uid, gid);
    const home = options.home?.at ?? own;
    // Some programs look up the name of their user, and fail if there is none.
    const entry = `agent:x:${uid}:${gid}:agent:${home}:/bin/sh\n`;
    await writeFile(join(folder, "passwd"), entry, { mode: 0o644 });
    await writeFile(join(folder, "group"), `agent:x:${gid}:\n`, { mode: 0o644 });
    await writeFile(join(folder, "hosts"), "127.0.0.1 localhost\n::1 localhost\n");
    await writeFile(join(folder, "filter.bpf"), seccompFilter());
    await writeFile(join(folder, ENTER), await enterCode());
    return new Sandbox(options, folder, await ControlGroup.create(groupOf(name, user), limits));
  }

  /** Ends the programs of a sandbox whose process was killed, and removes its control groups. */
  static async remove(
    name: string,
    user: SandboxOptions["user"],
    limits: GroupLimits,
  ): Promise<void> {
    const group = await ControlGroup.create(groupOf(name, user), limits);
    await group?.[Symbol.asyncDispose]();
  }

  /** How to start a program in the sandbox. Its environment is passed on, but for our own folders. */
  wrap(program: Program): WrappedProgram {
    const { user, egress, parts, proxyVariables } = this.#options;
    const entry: Entry = {
      program: program.command,
      args: program.args,
      cwd: program.cwd,
      ports: egress === undefined ? [] : [0],
      proxyVariables: egress === undefined ? {} : { ...PROXY_VARIABLES, ...proxyVariables },
      ...(parts.landlock ? { landlock: this.#landlock() } : {}),
    };
    const node = [
      process.execPath,
      "--experimental-ffi",
      "--no-warnings",
      join(this.#folder, ENTER),
    ];
    const inside = [...becoming(user), ...node, JSON.stringify(entry)];
    const { folders = [] } = this.#group ?? {};
    const filter = join(this.#folder, "filter.bpf");
    const bwrap = [parts.bwrap, ...this.#arguments(), "--", ...inside];
    return {
      command: "/bin/sh",
      args: ["-c", SCRIPT, "sh", folders.join(" "), filter, ...bwrap],
      env: { ...withoutOurFolders(program.env), HOME: this.home, TMPDIR: "/tmp" },
      cwd: "/",
      egress,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#group?.[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }

  #arguments(): string[] {
    const { write, also = [], home, read, seesAll = false, hide = [], user } = this.#options;
    const own = (file: string): string => join(this.#folder, file);
    const inEtc = ["--perms", "0755", "--dir", "/etc"];
    const system = seesAll
      ? ["--ro-bind", "/", "/"]
      : [...inEtc, ...bindSystem(), "--perms", "0755", "--tmpfs", "/run"];
    const etc = ["passwd", "group", "hosts"].flatMap((file) => [
      "--ro-bind",
      own(file),
      `/etc/${file}`,
    ]);
    const visible = [...read, process.execPath, own(ENTER)];
    return [
      ...(user === undefined ? ["--unshare-user", "--disable-userns"] : []),
      "--unshare-ipc",
      "--unshare-pid",
      "--unshare-net",
      "--unshare-uts",
      "--unshare-cgroup-try",
      "--die-with-parent",
      "--new-session",
      "--cap-drop",
      "ALL",
      ...(user === undefined ? [] : TO_BECOME.flatMap((right) => ["--cap-add", right])),
      "--hostname",
      "sandbox",
      ...system,
      "--proc",
      "/proc",
      "--dev",
      "/dev",
      ...["--perms", "1777", "--tmpfs", "/tmp"],
      ...(seesAll ? [] : etc),
      ...hide.filter((path) => existsSync(path)).flatMap((path) => ["--tmpfs", path]),
      ...wayTo(seesAll ? [own(ENTER), this.home] : [...visible, ...write, this.home]),
      ...(seesAll ? [own(ENTER)] : visible).flatMap((path) => ["--ro-bind-try", path, path]),
      ...write.flatMap((path) => ["--bind", path, path]),
      ...["--bind", home?.path ?? this.home, this.home],
      ...wayTo(also.map(({ at }) => at)),
      ...also.flatMap(({ path, at }) => ["--bind", path, at]),
      "--seccomp",
      FILTER_FD,
    ];
  }

  /** A second barrier, in case the first has a hole: paths that are not listed cannot be opened. */
  #landlock(): NonNullable<Entry["landlock"]> {
    const { write, read, seesAll = false } = this.#options;
    return {
      read: seesAll ? ["/"] : [...SYSTEM, "/etc", "/proc", "/dev", ...read, process.execPath],
      write: [...write, this.home, "/tmp", "/dev/null", "/dev/zero", "/dev/tty", "/dev/shm"],
    };
  }
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

const LOCAL = "localhost,127.0.0.1,::1";

export const PROXY_VARIABLES: Readonly<Record<string, string>> = {
  HTTP_PROXY: "PROXY",
  HTTPS_PROXY: "PROXY",
  ALL_PROXY: "PROXY",
  http_proxy: "PROXY",
  https_proxy: "PROXY",
  all_proxy: "PROXY",
  // Servers that a program starts in its own sandbox.
  NO_PROXY: LOCAL,
  no_proxy: LOCAL,
  /** Makes Node's own fetch use them. */
  NODE_USE_ENV_PROXY: "1",
  TRUNKLINE_SERVICES: `PROXY${SERVICE_PATH.slice(0, -1)}`,
};

/** The parent folders of some paths, which bubblewrap would create for root only. */
function wayTo(paths: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let at = dirname(path); !STANDING.has(at) && !isSystem(at); at = dirname(at))
      folders.add(at);
  }
  return [...folders].toSorted().flatMap((folder) => ["--perms", "0755", "--dir", folder]);
}

/** Folders that already exist. */
const STANDING = new Set(["/", "/tmp", "/dev", "/proc", "/run"]);

function isSystem(path: string): boolean {
  return SYSTEM.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

/** Capabilities that root needs to change to another user, and loses afterwards. */
const TO_BECOME = ["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"];

function becoming(user: SandboxOptions["user"]): string[] {
  if (user === undefined) return [];
  const who = [`--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"];
  return ["/usr/bin/setpriv", ...who, "--bounding-set=-all", "--inh-caps=-all"];
}

/** Binds folders, and recreates links as links: on merged systems /bin links to /usr/bin. */
export function bindSystem(): string[] {
  return [...SYSTEM, ...SETTINGS].flatMap((path) => {
    const status = lstatSync(path, { throwIfNoEntry: false });
    if (status === undefined) return [];
    return status.isSymbolicLink() && dirname(path) === "/"
      ? ["--symlink", readlinkSync(path), path]
      : ["--ro-bind", path, path];
  });
}
