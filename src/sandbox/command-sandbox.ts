import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isInside } from "../base/file/path.ts";
import { bubblewrapProgram, OWN_USERS, type Program, tryOut } from "./bubblewrap.ts";
import type { EgressProxy } from "./egress-proxy.ts";
import type { FileView, Mount } from "./file-view.ts";
import { openNetwork } from "./own-network.ts";
import { PROXY_VARIABLES } from "./sandbox.ts";
import { makeOwnFolder, mountsOf, removeSandboxFolder } from "./sandbox-folder.ts";
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

export type CommandSandbox = Awaited<ReturnType<typeof openCommandSandbox>>;

/**
 * The sandbox for commands of local sessions. They see the programs of the system and what the view allows,
 * have a home and a /tmp of their own, see no process but their own, and reach the network through a proxy.
 * Each command ends with everything that it started. It costs a few milliseconds: slow work is done once.
 * Throws "unavailable" if this machine does not allow it.
 */
export async function openCommandSandbox(options: CommandSandboxOptions) {
  const { data, bwrap, nsenter, egress, user, files, etc = {} } = options;
  await using opening = new AsyncDisposableStack();
  const folder = await makeOwnFolder(data, "commands", user);
  opening.defer(() => removeSandboxFolder(folder));
  for (const [name, text] of Object.entries(etc)) {
    await writeFile(join(folder, "etc", name), text, { mode: 0o644 });
  }
  const network = opening.use(await openNetwork({ bwrap, nsenter, egress }));
  await network.rest();
  const view: Omit<FileView, "mounts"> = {
    own: [{ at: user.home, from: options.home, isWritable: true }, ...mountsOf(folder)],
    ...files,
    read: [...systemFiles(), ...files.read],
  };
  const who = { HOME: user.home, USER: user.name, LOGNAME: user.name };
  /**
   * How to start a program in the sandbox, with `mounts` over what it sees. Its environment is passed on
   * unchanged. Throws "unavailable" if something cannot be shown to it.
   */
  const wrap = (
    { command, args, env, cwd }: Program,
    mounts: readonly Mount[] = [],
    hasNetwork = true,
  ): Program => {
    const start = bubblewrapProgram({
      bwrap: [...network.enter, "--", bwrap],
      more: hasNetwork ? OWN_USERS : ["--unshare-net", ...OWN_USERS],
      folder,
      view: { ...view, mounts },
      cwd,
      program: { command, args, cwd },
    });
    const proxy = hasNetwork ? PROXY_VARIABLES : {};
    return { ...start, env: { ...env, ...who, ...proxy, TMPDIR: "/tmp" } };
  };
  /** Whether a path of the machine can be seen, if it exists. */
  const shows = (path: string): boolean => {
    const { read, write, also } = view;
    const seen = [...SYSTEM, ...read, ...write, ...also.map(({ at }) => at)];
    return seen.some((place) => isInside(path, place));
  };
  await tryOut(wrap, ["/bin/true"], 10_000, "bubblewrap does not work here");
  const open = opening.move();
  return { wrap, shows, [Symbol.asyncDispose]: () => open.disposeAsync() };
}
