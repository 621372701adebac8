import { lstatSync, mkdirSync, realpathSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { background } from "../base/background.ts";
import { TrunklineError } from "../base/errors.ts";
import type { EgressProxy } from "./egress-proxy.ts";
import { OwnNetwork } from "./own-network.ts";
import { ENTER, enterCode, type Program } from "./sandbox.ts";
import { seccompFilter } from "./seccomp.ts";

/** Exceptions to the default that commands can read all files of the machine and write none. */
export interface FileRules {
  /** Paths that can be written. */
  readonly write: readonly string[];
  /** Paths in `write` that can only be read. */
  readonly keep: readonly string[];
  /** Paths that are empty inside. */
  readonly hide: readonly string[];
  /** Paths in `hide` that can be read. */
  readonly show: readonly string[];
}

export interface CommandSandboxOptions {
  /** The folder of our own data, in which the sandbox stores its few files. */
  readonly data: string;
  readonly bwrap: string;
  readonly nsenter: string;
  /** Called before each command, since files are created and deleted. */
  readonly files: () => FileRules;
  /** The only access to the network. */
  readonly egress: EgressProxy;
}

/** Something mounted over the files that a command sees. */
export interface Mount {
  readonly at: string;
  /** Nothing that a command can write. */
  readonly from: string;
  readonly isWritable: boolean;
}

export const FILTER = "filter.bpf";
const FILTER_FD = "9";
/** Opens the filter, and executes the remaining arguments. */
const SCRIPT = 'exec 9<"$1"; shift; exec "$@"';

/** How to start a program, in the network that `enter` leads to, with what bubblewrap is told. */
export function startIn(
  folder: string,
  enter: readonly string[],
  inside: readonly string[],
): Pick<Program, "command" | "args" | "cwd"> {
  const args = ["-c", SCRIPT, "sh", join(folder, FILTER), ...enter, "--", ...inside];
  return { command: "/bin/sh", args, cwd: "/" };
}

/** Its own processes and users, no rights over the kernel, few system calls; its end is that of all. */
export const SEPARATE = [
  ...["--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc"],
  ...["--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--new-session"],
  ...["--cap-drop", "ALL", "--seccomp", FILTER_FD],
];

/**
 * The sandbox for commands of local sessions. They see the files of the machine except secrets, can write
 * only what the rules allow, see no process but their own, and reach the network through a proxy. Each
 * command ends with everything that it started. It costs a few milliseconds: slow work is done once.
 *
 * Landlock is not used here: it would need a Node process for each command.
 */
export class CommandSandbox implements AsyncDisposable {
  readonly #options: CommandSandboxOptions;
  readonly #folder: string;
  readonly #network: OwnNetwork;

  private constructor(options: CommandSandboxOptions, folder: string, network: OwnNetwork) {
    this.#options = options;
    this.#folder = folder;
    this.#network = network;
  }

  /** Throws "unavailable" if this machine does not allow it. */
  static async open(options: CommandSandboxOptions): Promise<CommandSandbox> {
    const { data, bwrap, nsenter, egress } = options;
    const folder = await makeSandboxFolder(data, "commands");
    try {
      for (const name of ["tmp", "var-tmp"]) await mkdir(join(folder, name), { mode: 0o700 });
      await mkdir(join(folder, "empty-folder"), { mode: 0o500 });
      await writeFile(join(folder, "empty"), "", { mode: 0o400 });
      const enter = join(folder, ENTER);
      const network = await OwnNetwork.open({ bwrap, nsenter, enter, egress });
      await network.rest();
      const sandbox = new CommandSandbox(options, folder, network);
      await sandbox.#tryOut();
      return sandbox;
    } catch (error) {
      await removeSandboxFolder(folder);
      throw error;
    }
  }

  /** How to start a program in the sandbox. Its environment is passed on unchanged. */
  wrap({ command, args, env, cwd }: Program, mounts: readonly Mount[] = []): Program {
    const { bwrap } = this.#options;
    const [folder = cwd] = existing(cwd);
    const more = mounts
      .toSorted((one, other) => (one.at < other.at ? -1 : 1))
      .flatMap(({ at, from, isWritable }) => [isWritable ? "--bind" : "--ro-bind", from, at]);
    const inside = [
      bwrap,
      ...this.#arguments(env),
      ...more,
      "--chdir",
      folder,
      "--",
      command,
      ...args,
    ];
    return {
      ...startIn(this.#folder, this.#network.enter, inside),
      env: { ...env, ...this.#network.variables, TMPDIR: "/tmp" },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#network[Symbol.asyncDispose]();
    await removeSandboxFolder(this.#folder);
  }

  #arguments(env: NodeJS.ProcessEnv): string[] {
    return [
      ...SEPARATE,
      ...["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"],
      ...this.#mounts(env),
    ];
  }

  /** The nearest rule applies, so mounts of folders come before mounts inside of them. */
  #mounts({ XDG_RUNTIME_DIR: runtime }: NodeJS.ProcessEnv): string[] {
    const { write, keep, hide, show } = this.#options.files();
    const mounts = new Map<string, readonly string[]>();
    const own = (name: string): string => join(this.#folder, name);
    const each = (paths: readonly string[], how: (path: string) => readonly string[]): void => {
      for (const path of paths.flatMap(existing)) mounts.set(path, how(path));
    };
    // Sockets of programs outside: D-Bus, Docker, ssh-agent, editors.
    each(["/run"], (path) => ["--perms", "0755", "--tmpfs", path]);
    each(["/tmp"], (path) => ["--bind", own("tmp"), path]);
    each(["/var/tmp"], (path) => ["--bind", own("var-tmp"), path]);
    each(hide, (path) =>
      isFolder(path) ? ["--perms", "0755", "--tmpfs", path] : ["--ro-bind", own("empty"), path],
    );
    each(show, (path) => ["--ro-bind", path, path]);
    each(write, (path) => ["--bind", path, path]);
    each(keep, (path) => ["--ro-bind", path, path]);
    const ofUser =
      runtime?.startsWith("/run/") === true ? ["--perms", "0700", "--dir", runtime] : [];
    // Writing into an empty tmpfs would lose files silently. Last, because bubblewrap creates folders in them.
    const hidden = hide.flatMap(existing).filter((path) => mounts.get(path)?.includes("--tmpfs"));
    const closed = hidden.flatMap((path) => ["--remount-ro", path]);
    const sorted = [...mounts].toSorted(([one], [other]) => (one < other ? -1 : 1));
    return [...sorted.flatMap(([, mount]) => mount), ...ofUser, ...closed];
  }

  async #tryOut(): Promise<void> {
    const { execFile } = process.getBuiltinModule("node:child_process");
    const env = { PATH: process.env.PATH };
    const { command, args, cwd } = this.wrap({ command: "/bin/true", args: [], env, cwd: "/" });
    const problem = await new Promise<string | undefined>((resolve) => {
      execFile(command, [...args], { env, cwd, timeout: 10_000 }, (error, _, stderr) => {
        const [line = ""] = stderr.trim().split("\n");
        resolve(error === null ? undefined : line || `it ended with ${error.code}`);
      });
    });
    if (problem === undefined) return;
    await this.#network[Symbol.asyncDispose]();
    throw new TrunklineError("unavailable", `bubblewrap does not work here: ${problem}`);
  }
}

/** The real path, if it exists: bubblewrap does not mount on links. */
export function existing(path: string): string[] {
  try {
    return [realpathSync.native(path)];
  } catch {
    return [];
  }
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** A folder for the files that starting a program in a sandbox takes: its first code and its filter. */
export async function makeSandboxFolder(
  data: string,
  kind: "commands" | "plugin",
): Promise<string> {
  // At once: whoever removes the folder when the process exits must not have it made again after.
  mkdirSync(data, { recursive: true, mode: 0o700 });
  background(removeAbandoned(data), "Removing folders of sandboxes that were killed");
  const [filter, code] = [seccompFilter(), await enterCode()];
  const folder = await mkdtemp(join(data, `${kind}-${process.pid}-`));
  try {
    await writeFile(join(folder, FILTER), filter);
    await writeFile(join(folder, ENTER), code);
    return folder;
  } catch (error) {
    await removeSandboxFolder(folder);
    throw error;
  }
}

/** Programs may leave read-only folders in /tmp, such as Go modules. */
export async function removeSandboxFolder(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    for (const { parentPath, name } of await readdir(folder, FOLDERS).catch(() => [])) {
      await chmod(join(parentPath, name), 0o700).catch(() => {});
    }
    await rm(folder, { recursive: true, force: true });
  }
}

const FOLDERS = { recursive: true, withFileTypes: true } as const;

/** Removes the folders of processes that have ended. */
async function removeAbandoned(data: string): Promise<void> {
  for (const name of await readdir(data)) {
    const [, pid] = /^(?:commands|plugin)-(\d+)-/.exec(name) ?? [];
    if (pid === undefined || isAlive(Number(pid))) continue;
    await removeSandboxFolder(join(data, name));
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
