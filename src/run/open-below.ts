import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** Opens a folder in an open folder. Throws where it is a link. */
export function openFolder(folder: FileHandle, step: Buffer): Promise<FileHandle> {
  return open(nameIn(folder, step), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/**
 * Opens a folder below another. What runs in a workspace may put a link in the place of a folder at
 * any moment, so no step of a path is taken by its name alone: each folder is opened in the one
 * before, and no link is followed.
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

/** The path of something in an open folder, whatever has become of the folder's own path. */
export function nameIn(folder: FileHandle, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${folder.fd}/`), name]);
}
