import { constants, existsSync, lstatSync } from "node:fs";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { readRegularFile } from "../base/file/read-regular-file.ts";
import type { Git } from "../git/git.ts";

/** A file of the repository with more patterns; other tools read it too. */
const INCLUDE = ".worktreeinclude";
/** Bytes. */
const LONGEST = 64 * 1024;

/**
 * Copies ignored files from one work tree to another, such as settings and installed packages, without
 * which programs do not run there. Blocks are shared where the file system supports that. Tracked files
 * are never copied: git has written those of the right commit.
 */
export async function carryFiles(
  from: Git,
  tree: string,
  patterns: readonly string[],
): Promise<void> {
  const include = readRegularFile(join(from.folder, INCLUDE), {
    most: LONGEST,
    inside: [from.folder],
  });
  const all = [...patterns, ...(include === undefined ? [] : [include.toString("utf8")])];
  if (all.every((pattern) => pattern.trim() === "")) return;
  const found = await ignoredFiles(from, `${tree}.carry`, all);
  // A file that the commit of the work tree does not ignore would be committed with the session's work.
  for (const path of await onlyIgnored(from.in(tree), found)) {
    const target = join(tree, path);
    if (existsSync(target)) continue;
    await mkdir(dirname(target), { recursive: true });
    await cp(join(from.folder, path), target, {
      recursive: true,
      verbatimSymlinks: true,
      preserveTimestamps: true,
      mode: constants.COPYFILE_FICLONE,
      // Pipes, sockets and devices cannot be copied.
      filter: (path) => {
        const stats = lstatSync(path);
        return stats.isFile() || stats.isDirectory() || stats.isSymbolicLink();
      },
    });
  }
}

/** Files and folders that match a pattern and that git ignores. */
async function ignoredFiles(
  git: Git,
  file: string,
  patterns: readonly string[],
): Promise<string[]> {
  // Git matches the patterns, so they mean exactly what they mean in .gitignore.
  await writeFile(file, `${patterns.join("\n")}\n`, { mode: 0o600 });
  try {
    const list = ["ls-files", "-z", "--others", "--ignored", "--directory"];
    const { stdout } = await git.run([...list, `--exclude-from=${file}`]);
    return await onlyIgnored(git, stdout.toString("utf8").split("\0").filter(Boolean));
  } finally {
    await rm(file, { force: true });
  }
}

async function onlyIgnored(git: Git, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const check = { input: `${paths.join("\0")}\0`, accepts: [0, 1] };
  const { stdout } = await git.run(["check-ignore", "-z", "--stdin"], check);
  return stdout.toString("utf8").split("\0").filter(Boolean);
}
