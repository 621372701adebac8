import { existsSync, mkdirSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";

import { isInside } from "../base/file/path.ts";
import {
  existing,
  makeSandboxFolder,
  removeSandboxFolder,
  SEPARATE,
  startIn,
} from "./command-sandbox.ts";
import type { EgressProxy } from "./egress-proxy.ts";
import { OwnNetwork } from "./own-network.ts";
import { bindSystem, ENTER, type Program } from "./sandbox.ts";

export interface PluginSandboxOptions {
  /** The folder of our own data, in which the sandbox stores its few files. */
  readonly data: string;
  readonly bwrap: string;
  readonly nsenter: string;
  /** The only access to the network. */
  readonly egress: EgressProxy;
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

/** Where programs of the machine have their sockets: D-Bus, Docker, ssh-agent, X11, editors. */
const SOCKETS = ["/run", "/tmp", "/var/tmp"];

/**
 * The sandbox of one plugin: it reaches the network through a proxy, the listeners at some ports of its
 * own network, and no socket of the machine but those in folders that it was given.
 */
export class PluginSandbox implements AsyncDisposable {
  readonly network: OwnNetwork;
  readonly #options: PluginSandboxOptions;
  readonly #folder: string;

  private constructor(options: PluginSandboxOptions, folder: string, network: OwnNetwork) {
    this.network = network;
    this.#options = options;
    this.#folder = folder;
  }

  /** Throws "unavailable" if this machine does not allow it. */
  static async open(options: PluginSandboxOptions): Promise<PluginSandbox> {
    const { data, bwrap, nsenter, egress, ports, write } = options;
    // Only what is there can be shown to the plugin.
    for (const path of write) if (!existsSync(path)) mkdirSync(path, { recursive: true });
    const folder = await makeSandboxFolder(data, "plugin");
    try {
      await writeFile(join(folder, "hosts"), "127.0.0.1 localhost\n");
      const enter = join(folder, ENTER);
      const network = await OwnNetwork.open({ bwrap, nsenter, enter, egress, ports });
      return new PluginSandbox(options, folder, network);
    } catch (error) {
      await removeSandboxFolder(folder);
      throw error;
    }
  }

  /** How to start the plugin in the sandbox. */
  wrap({ command, args, env }: Program): Program {
    const inside = [this.#options.bwrap, ...this.#arguments(env), "--", command, ...args];
    return {
      ...startIn(this.#folder, this.network.enter, inside),
      env: { ...env, ...this.network.variables, TMPDIR: "/tmp" },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.network[Symbol.asyncDispose]();
    await removeSandboxFolder(this.#folder);
  }

  #arguments(env: NodeJS.ProcessEnv): string[] {
    const { seesAll } = this.#options;
    const files = seesAll ? ["--bind", "/", "/"] : this.#system();
    const emptyFolders = (seesAll ? SOCKETS : ["/tmp"]).flatMap(existing).flatMap(emptied);
    const own = ["--proc", "/proc", "--dev", "/dev", ...emptyFolders];
    return [...SEPARATE, ...files, ...own, ...this.#mounts(env), "--chdir", "/"];
  }

  /** The system's programs; or everything, if that was given. */
  #system(): string[] {
    const { read, write } = this.#options;
    if (write.includes("/")) return ["--bind", "/", "/"];
    if (read.includes("/")) return ["--ro-bind", "/", "/"];
    const hosts = ["--ro-bind", join(this.#folder, "hosts"), "/etc/hosts"];
    return ["--dir", "/etc", ...bindSystem(), ...hosts];
  }

  /** The nearest rule applies, so mounts of folders come before mounts inside of them. */
  #mounts({ NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, SSL_CERT_DIR }: NodeJS.ProcessEnv): string[] {
    const { read, write, seesAll, hide } = this.#options;
    const certificates = [NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, SSL_CERT_DIR].flatMap((path) =>
      path !== undefined && isAbsolute(path) ? [path] : [],
    );
    const given = [process.execPath, ...STORES, ...certificates, ...read, ...write];
    const hidden = hide.flatMap(existing);
    const mounts = new Map<string, readonly string[]>();
    const binds = (paths: readonly string[], how: string): void => {
      for (const path of paths.filter((one) => one !== "/" && !isInside(one, "/proc"))) {
        const [real] = existing(path);
        if (real === undefined) continue;
        mounts.set(real, [how, real, real]);
        // The path as it is written may lead through links that are not there inside.
        if (!seesAll) mounts.set(path, [how, real, path]);
      }
    };
    for (const path of hidden) {
      const isFolder = statSync(path).isDirectory();
      mounts.set(path, isFolder ? emptied(path) : ["--ro-bind", "/dev/null", path]);
    }
    binds(seesAll ? given.filter((path) => this.#isHidden(path)) : given, "--ro-bind");
    binds(write, "--bind");
    const sorted = [...mounts].toSorted(([one], [other]) => (one < other ? -1 : 1));
    // What is written to an empty folder would be lost.
    const closed = hidden.filter((path) => mounts.get(path)?.includes("--tmpfs"));
    return [
      ...sorted.flatMap(([, mount]) => mount),
      ...closed.flatMap((path) => ["--remount-ro", path]),
    ];
  }

  #isHidden(path: string): boolean {
    const folders = [...SOCKETS, "/dev", ...this.#options.hide].flatMap(existing);
    return existing(path).some((real) => folders.some((folder) => isInside(real, folder)));
  }
}

function emptied(path: string): string[] {
  return ["--perms", "1777", "--tmpfs", path];
}

/** Where some systems have the libraries of programs that are elsewhere. */
const STORES = ["/nix/store", "/gnu/store"];
