import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { usualVariables } from "../../base/process/environment.ts";
import { runProgram } from "../../git/run-program.ts";
import type { FileOwner, TreeRequest, WorkspaceDriver } from "./driver.ts";

/** Milliseconds that the copy of a large base may take on a slow disk. */
const LONGEST = 60 * 60_000;

/** Copies the base; blocks are shared until they are changed, if the file system supports that. */
export class CopyDriver implements WorkspaceDriver {
  readonly name: "reflink" | "copy";

  constructor(name: "reflink" | "copy") {
    this.name = name;
  }

  async open({ layers, folder, owner }: TreeRequest): Promise<string> {
    const tree = join(folder, "tree");
    if (existsSync(tree)) return tree;
    await mkdir(folder, { recursive: true });
    // An interrupted copy must not be mistaken for a tree.
    const unfinished = join(folder, "unfinished");
    await rm(unfinished, { recursive: true, force: true });
    const mode = this.name === "reflink" ? "always" : "auto";
    await mkdir(unfinished);
    for (const layer of layers.toReversed()) {
      await run("cp", ["--archive", `--reflink=${mode}`, `${layer}/.`, unfinished]);
    }
    if (owner !== undefined) await giveTo(unfinished, owner);
    await rename(unfinished, tree);
    return tree;
  }

  async changesOf(folder: string, owner: FileOwner | undefined): Promise<string> {
    const tree = join(folder, "tree");
    const { getuid, getgid } = process;
    if (owner !== undefined) await giveTo(tree, { uid: getuid?.() ?? 0, gid: getgid?.() ?? 0 });
    // Some tools leave read-only folders, which only root can move.
    if (getuid?.() !== 0) await run("chmod", ["--recursive", "u+rwX", tree]);
    return tree;
  }

  async close(): Promise<void> {
    // A plain folder has nothing to release.
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Nor has the driver.
  }
}

/** Changes the owner of a folder and everything in it. */
export async function giveTo(tree: string, { uid, gid }: FileOwner): Promise<void> {
  await run("chown", ["--recursive", "--no-dereference", `${uid}:${gid}`, tree]);
}

/** Retries, because another process that looks for old workspaces may be locking this one. */
const WHOLE = { recursive: true, force: true, maxRetries: 5, retryDelay: 50 } as const;

/** Removes a folder, even if it contains read-only folders. */
export async function removeTree(tree: string): Promise<void> {
  try {
    await rm(tree, WHOLE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    await run("chmod", ["--recursive", "u+rwX", tree]);
    await rm(tree, WHOLE);
  }
}

/** Whether files in a folder can share blocks. The type of the file system does not tell, so it is tried. */
export async function canReflink(folder: string): Promise<boolean> {
  const { copyFile, constants, writeFile } = process.getBuiltinModule("node:fs/promises");
  const from = join(folder, `.reflink-${process.pid}`);
  try {
    await writeFile(from, "x");
    await copyFile(from, `${from}-copy`, constants.COPYFILE_FICLONE_FORCE);
    return true;
  } catch {
    return false;
  } finally {
    await rm(from, { force: true });
    await rm(`${from}-copy`, { force: true });
  }
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const { code, stderr } = await runProgram({
    command,
    args,
    env: usualVariables(),
    timeout: LONGEST,
    maxOutput: 0,
    isAlone: true,
  });
  if (code === 0) return;
  const why = stderr.trim() || `'${command}' ended with ${code}`;
  throw new TrunklineError("unavailable", `Cannot copy the base: ${why}`);
}
