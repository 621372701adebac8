import { existsSync, type FSWatcher, watch } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";

/** Watches a folder; while it does not exist, the nearest one above it, in which it may appear. */
export function watchFolder(
  folder: string,
  names: ReadonlySet<string>,
  changed: () => void,
): () => void {
  let watcher: FSWatcher | undefined;
  const begin = (): void => {
    watcher?.close();
    const there = nearestFolder(folder);
    const [awaited] = relative(there, folder).split(sep);
    watcher = tryWatch(there, (name) => {
      // It was removed or moved itself, and the watch with it. Another may come in its place.
      if (name === basename(there)) appeared();
      else if (there === folder) {
        if (name === null || names.has(name)) changed();
      } else if (name === null || name === awaited) appeared();
    });
    // It may have been created just before the watch began.
    if (there !== nearestFolder(folder)) appeared();
  };
  const appeared = (): void => {
    begin();
    if (names.values().some((name) => existsSync(join(folder, name)))) changed();
  };
  begin();
  return () => watcher?.close();
}

/** Undefined if the folder may not be watched; then changes are applied with the next start. */
function tryWatch(folder: string, heard: (name: string | null) => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, (_, name) => heard(name));
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}

/** The folder, or the nearest one above it that exists. */
function nearestFolder(folder: string): string {
  const above = dirname(folder);
  return existsSync(folder) || above === folder ? folder : nearestFolder(above);
}
