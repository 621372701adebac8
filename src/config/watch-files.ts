import { background } from "../base/background.ts";

/** Milliseconds after the start: the client waits for its first answer until then. */
const AFTER_START = 250;

/**
 * Calls back after files have changed, also between the call and the beginning of the watch. Their
 * folders are watched, since many editors put a new file in the place of the old one. A folder that does
 * not exist, or no more, is watched as soon as it does.
 */
export function watchFiles(files: readonly string[], changed: () => void): () => void {
  const began = Date.now();
  let stop: (() => void) | undefined;
  let isStopped = false;
  const begin = async (): Promise<void> => {
    const { watchFolders } = await import("./watch-folders.ts");
    if (!isStopped) stop = watchFolders(files, began, changed);
  };
  const start = setTimeout(() => background(begin(), "Watching files"), AFTER_START).unref();
  return () => {
    isStopped = true;
    clearTimeout(start);
    stop?.();
  };
}
