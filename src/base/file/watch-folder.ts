import { existsSync, type FSWatcher, watch } from "node:fs";
import { basename, dirname, relative, sep } from "node:path";

/**
 * Calls back with the names that change in a folder. If the folder does not exist, the nearest
 * parent is watched, and the callback comes without a name when the folder is created. Does not
 * keep the process alive.
 */
export function watchFolder(
  folder: string,
  changed: (name: string | undefined) => void,
): () => void {
  let watcher: FSWatcher | undefined;
  let isOver = false;
  let wasAway = false;
  const begin = (): void => {
    watcher?.close();
    watcher = undefined;
    if (isOver) return;
    const there = nearest(folder);
    const isHere = there === folder;
    // The folder on the way that may be created, and the watched one, which may be removed.
    const awaited = [relative(there, folder).split(sep, 1)[0], basename(there)];
    try {
      watcher = watch(there, { persistent: false }, (event, name) => {
        if (isHere) {
          // A watch does not survive the removal of its folder. A file that is written removes nothing.
          if (event === "rename" && !existsSync(folder)) begin();
          changed(name ?? undefined);
        } else if (name === null || awaited.includes(name)) begin();
      });
      watcher.on("error", begin);
    } catch {
      // It was removed at this moment, or the system has no more watches.
      if (there !== dirname(there)) setTimeout(begin, 1_000).unref();
      return;
    }
    if (isHere && wasAway) changed(undefined);
    wasAway = !isHere;
    // It may have been created between the check and the watch.
    if (!isHere && nearest(folder) !== there) begin();
  };
  begin();
  return () => {
    isOver = true;
    watcher?.close();
  };
}

function nearest(folder: string): string {
  const above = dirname(folder);
  return above === folder || existsSync(folder) ? folder : nearest(above);
}
