import { existsSync, type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";

/**
 * Calls back with the names that change in a folder, also in one that is made later: until then the
 * nearest folder above it is watched, and once it is there the callback comes without a name. Keeps
 * no process alive.
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
    try {
      watcher = watch(there, { persistent: false }, (_, name) => {
        // A folder that was taken away is watched by its name no more.
        if (!isHere || !existsSync(folder)) begin();
        if (isHere) changed(name ?? undefined);
      });
      watcher.on("error", begin);
    } catch {
      // It went away in this moment, or there is no more room for watches.
      if (there !== dirname(there)) setTimeout(begin, 1_000).unref();
      return;
    }
    if (isHere && wasAway) changed(undefined);
    wasAway = !isHere;
    // It may have been made between looking and watching.
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
