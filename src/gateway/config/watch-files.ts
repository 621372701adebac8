import { existsSync, type FSWatcher, statSync, watch } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";

/** Milliseconds after the start: the client waits for its first answer until then. */
const AFTER_START = 250;
/** Milliseconds without another change: editors write a file in several steps. */
const SETTLE = 100;

/**
 * Calls back after files have changed, also between the call and the beginning of the watch. Their
 * folders are watched, since many editors put a new file in the place of the old one. A folder that does
 * not exist yet is watched as soon as it does.
 */
export function watchFiles(files: readonly string[], changed: () => void): () => void {
  const began = Date.now();
  let timer: NodeJS.Timeout | undefined;
  let stops: (() => void)[] = [];
  const settle = (): void => {
    clearTimeout(timer);
    timer = setTimeout(changed, SETTLE).unref();
  };
  const start = setTimeout(() => {
    stops = [...Map.groupBy(files, dirname)].map(([folder, inside]) => {
      return watchFolder(folder, new Set(inside.map((file) => basename(file))), settle);
    });
    if (files.some((file) => changedSince(file, began))) settle();
  }, AFTER_START).unref();
  return () => {
    clearTimeout(start);
    clearTimeout(timer);
    for (const stop of stops) stop();
  };
}

/** Watches a folder; while it does not exist, the nearest one above it, in which it may appear. */
function watchFolder(folder: string, names: ReadonlySet<string>, changed: () => void): () => void {
  let watcher: FSWatcher | undefined;
  const begin = (): void => {
    watcher?.close();
    const there = nearestFolder(folder);
    const [awaited] = relative(there, folder).split(sep);
    watcher = tryWatch(there, (name) => {
      if (there === folder) {
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

/** Milliseconds by which the clock of file time stamps may be behind. */
const STAMP_LAG = 50;

function changedSince(file: string, time: number): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > time - STAMP_LAG;
}
