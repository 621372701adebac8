import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** Opens a folder in an open folder. Throws if it is a link. */
export function openFolder(folder: FileHandle, step: Buffer): Promise<FileHandle> {
  return open(nameIn(folder, step), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/**
 * Opens a folder below another. Programs in a workspace may replace a folder by a link at any moment, so
 * a path is not opened as a whole: each folder is opened relative to the open folder before it, and no
 * link is followed.
 */
export async function folderBelow(
  root: string,
  steps: readonly Buffer[],
  enter: (folder: FileHandle, step: Buffer) => Promise<FileHandle> = openFolder,
): Promise<FileHandle> {
  let folder = await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    for (const step of steps) {
      const next = await enter(folder, step);
      await folder.close();
      folder = next;
    }
    return folder;
  } catch (error) {
    await folder.close();
    throw error;
  }
}

/** The path of an entry in an open folder. It stays valid if the folder is moved or replaced. */
export function nameIn(folder: FileHandle, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${folder.fd}/`), name]);
}
