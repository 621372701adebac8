import { lchown, lstat } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { FileOwner } from "./driver.ts";

/** File system calls that run at once. */
const AT_ONCE = 64;

/**
 * Changes the owner of files that git wrote into a tree, and of the folders above them, so that the user
 * of the workspace can change them. Paths are relative to the tree.
 */
export async function giveFiles(
  tree: string,
  paths: readonly string[],
  owner: FileOwner | undefined,
): Promise<void> {
  if (owner === undefined) return;
  const folders = new Set<string>();
  for (const path of paths) {
    for (let above = dirname(path); above !== "."; above = dirname(above)) folders.add(above);
  }
  const all = [...folders, ...paths];
  for (let from = 0; from < all.length; from += AT_ONCE) {
    await Promise.all(all.slice(from, from + AT_ONCE).map((path) => give(join(tree, path), owner)));
  }
}

async function give(path: string, { uid, gid }: FileOwner): Promise<void> {
  const status = await lstat(path).catch(() => undefined);
  if (status !== undefined && status.uid !== uid) await lchown(path, uid, gid);
}
