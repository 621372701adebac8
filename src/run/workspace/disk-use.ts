import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

/** Bytes that a file, or a folder with everything in it, takes on disk. Other mounts below it do not count. */
export async function diskUse(folder: string): Promise<number> {
  const top = await lstat(folder);
  const { blocks, dev } = top;
  let bytes = blocks * 512;
  const waiting = top.isDirectory() ? [folder] : [];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    for (const name of await readdir(path)) {
      const status = await lstat(join(path, name)).catch(() => undefined);
      if (status === undefined || status.dev !== dev) continue;
      bytes += status.blocks * 512;
      if (status.isDirectory()) waiting.push(join(path, name));
    }
  }
  return bytes;
}
