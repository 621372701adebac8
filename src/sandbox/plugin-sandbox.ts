import { existsSync, mkdirSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

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
import { bindSystem, ENTER, type Program, wayTo } from "./sandbox.ts";

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
  /**
   * All files of the machine are there and can be written, except these: for one that starts other
   * programs, which nobody has limited. They are sockets of programs that act on requests.
   */
  readonly hide?: readonly string[] | undefined;
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
    const inside = [this.#options.bwrap, ...this.#arguments(), "--", command, ...args];
    return {
      ...startIn(this.#folder, this.network.enter, inside),
      env: { ...env, ...this.network.variables, TMPDIR: "/tmp" },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.network[Symbol.asyncDispose]();
    await removeSandboxFolder(this.#folder);
  }

  #arguments(): string[] {
    const { hide } = this.#options;
    return [...SEPARATE, ...(hide === undefined ? this.#few() : this.#allBut(hide)), ...IN_ROOT];
  }

  /** The system's programs, and what the plugin was given. */
  #few(): string[] {
    const { read, write } = this.#options;
    const given = [process.execPath, ...STORES, ...read, ...write].filter((path) => {
      // There is one of its own.
      return !isInside(path, "/proc") && !isInside(path, "/dev");
    });
    // The path as it is written may lead through links that are not there inside.
    const paths = given.flatMap((path) => existing(path).flatMap((real) => [path, real]));
    const system = ["--perms", "0755", "--dir", "/etc", ...bindSystem()];
    return [
      ...[...system, "--ro-bind", join(this.#folder, "hosts"), "/etc/hosts"],
      ...["--perms", "1777", "--tmpfs", "/tmp", ...wayTo(paths), ...this.#binds(paths)],
      // Last, in case all of the machine was approved.
      ...KERNEL,
    ];
  }

  /** Everything as it is, without the sockets of other programs. */
  #allBut(hide: readonly string[]): string[] {
    const { read, write } = this.#options;
    const paths = [...read, ...write].flatMap(existing);
    const others = hide.flatMap(existing).filter((path) => !SOCKETS.some(holds(path)));
    const hidden = [
      ...SOCKETS.flatMap(existing).flatMap((path) => ["--perms", "1777", "--tmpfs", path]),
      ...others.flatMap((path) =>
        statSync(path).isDirectory() ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path],
      ),
    ];
    const shown = paths.filter((path) => [...SOCKETS, ...others].some(holds(path)));
    return ["--bind", "/", "/", ...KERNEL, ...hidden, ...wayTo(shown), ...this.#binds(shown)];
  }

  /** Folders come before what is in them, which may be writable where the folder is not. */
  #binds(paths: readonly string[]): string[] {
    const writable = new Set(this.#options.write.flatMap((path) => [path, ...existing(path)]));
    return [...new Set(paths)].toSorted().flatMap((path) => {
      return [writable.has(path) ? "--bind" : "--ro-bind", path, path];
    });
  }
}

function holds(path: string): (folder: string) => boolean {
  return (folder) => isInside(path, folder);
}

const KERNEL = ["--proc", "/proc", "--dev", "/dev"];
const IN_ROOT = ["--chdir", "/"];
/** Where some systems have the libraries of programs that are elsewhere. */
const STORES = ["/nix/store", "/gnu/store"];
