import { existsSync, type FSWatcher, statSync, watch } from "node:fs";
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
  let watched: string | undefined;
  const begin = (): void => {
    watcher?.close();
    watcher = undefined;
    if (isOver) return;
    const there = nearest(folder);
    const isHere = there === folder;
    // The folder on the way that may be created, and the watched one, which may be removed.
    const awaited = [relative(there, folder).split(sep, 1)[0], basename(there)];
    try {
      watched = idOf(there);
      watcher = watch(there, { persistent: false }, (event, name) => {
        if (isHere) {
          // A watch does not survive the removal of its folder, also if there is another of its name by
          // now. A file that is written removes nothing.
          if (event === "rename" && idOf(folder) !== watched) {
            wasAway = true;
            begin();
          }
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
    // It may have been created, or replaced, between the check and the watch.
    if (isHere ? idOf(folder) !== watched : nearest(folder) !== there) begin();
  };
  begin();
  return () => {
    isOver = true;
    watcher?.close();
  };
}

/** The number of a removed folder is used again, but not with its time. */
function idOf(folder: string): string | undefined {
  const stats = statSync(folder, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`;
}

function nearest(folder: string): string {
  const above = dirname(folder);
  return above === folder || existsSync(folder) ? folder : nearest(above);
}
