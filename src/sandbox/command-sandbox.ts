import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { isInside } from "../base/file/path.ts";
import { bubblewrapped, OWN_USERS, problemWith, type Program } from "./bubblewrap.ts";
import type { EgressProxy } from "./egress-proxy.ts";
import type { FileView, Mount } from "./file-view.ts";
import { OwnNetwork } from "./own-network.ts";
import { ENTER, makeOwnFolder, mountsOf, removeSandboxFolder } from "./sandbox-folder.ts";
import { type SandboxUser, SYSTEM, systemFiles } from "./system-files.ts";

export interface CommandSandboxOptions {
  /** The folder of our own data, in which the sandbox stores its few files. */
  readonly data: string;
  readonly bwrap: string;
  readonly nsenter: string;
  /** What commands see beside the system's programs. */
  readonly files: Pick<FileView, "read" | "write" | "also" | "hide">;
  /** The user that they run as. */
  readonly user: SandboxUser;
  /** The folder that stands for the user's home. Commands write to it. */
  readonly home: string;
  /** Further files of /etc, by their names. */
  readonly etc?: Readonly<Record<string, string>>;
  /** The only access to the network. */
  readonly egress: EgressProxy;
}

/**
 * The sandbox for commands of local sessions. They see the programs of the system and what the view allows,
 * have a home and a /tmp of their own, see no process but their own, and reach the network through a proxy.
 * Each command ends with everything that it started. It costs a few milliseconds: slow work is done once.
 *
 * Landlock is not used here: it would need a Node process for each command.
 */
export class CommandSandbox implements AsyncDisposable {
  readonly #options: CommandSandboxOptions;
  readonly #folder: string;
  readonly #network: OwnNetwork;
  readonly #view: Omit<FileView, "mounts">;

  private constructor(options: CommandSandboxOptions, folder: string, network: OwnNetwork) {
    const { files, home, user } = options;
    this.#options = options;
    this.#folder = folder;
    this.#network = network;
    this.#view = {
      own: [{ at: user.home, from: home, isWritable: true }, ...mountsOf(folder)],
      ...files,
      read: [...systemFiles(), ...files.read],
    };
  }

  /** Throws "unavailable" if this machine does not allow it. */
  static async open(options: CommandSandboxOptions): Promise<CommandSandbox> {
    const { data, bwrap, nsenter, egress, user, etc = {} } = options;
    const folder = await makeOwnFolder(data, "commands", user);
    try {
      for (const [name, text] of Object.entries(etc)) {
        await writeFile(join(folder, "etc", name), text, { mode: 0o644 });
      }
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

  /**
   * How to start a program in the sandbox, with `mounts` over what it sees. Its environment is passed on
   * unchanged. Throws "unavailable" if something cannot be shown to it.
   */
  wrap(
    { command, args, env, cwd }: Program,
    mounts: readonly Mount[] = [],
    hasNetwork = true,
  ): Program {
    const start = bubblewrapped({
      bwrap: [...this.#network.enter, "--", this.#options.bwrap],
      more: hasNetwork ? OWN_USERS : ["--unshare-net", ...OWN_USERS],
      folder: this.#folder,
      view: { ...this.#view, mounts },
      cwd,
      inside: [command, ...args],
    });
    const { home, name } = this.#options.user;
    const who = { HOME: home, USER: name, LOGNAME: name };
    const proxy = hasNetwork ? this.#network.variables : {};
    return { ...start, env: { ...env, ...who, ...proxy, TMPDIR: "/tmp" } };
  }

  /** Whether a path of the machine can be seen, if it exists. */
  shows(path: string): boolean {
    const { read, write, also } = this.#view;
    const seen = [...SYSTEM, ...read, ...write, ...also.map(({ at }) => at)];
    return seen.some((folder) => isInside(path, folder));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#network[Symbol.asyncDispose]();
    await removeSandboxFolder(this.#folder);
  }

  async #tryOut(): Promise<void> {
    const env = { PATH: process.env.PATH };
    const program = { command: "/bin/true", args: [], env, cwd: "/" };
    try {
      const problem = await problemWith({ ...this.wrap(program), env }, 10_000);
      if (problem === undefined) return;
      const { code, says } = problem;
      throw new TrunklineError(code, `bubblewrap does not work here: ${says}`);
    } catch (error) {
      await this.#network[Symbol.asyncDispose]();
      throw error;
    }
  }
}
