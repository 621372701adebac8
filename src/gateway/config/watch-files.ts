import { existsSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";

import { background } from "../../base/background.ts";

/** Milliseconds after the start: the client waits for its first answer until then. */
const AFTER_START = 250;
/** Milliseconds without another change: editors write a file in several steps. */
const SETTLE = 100;

/**
 * Calls back after files have changed, also between the call and the beginning of the watch. Their
 * folders are watched, since many editors put a new file in the place of the old one. A folder that does
 * not exist, or no more, is watched as soon as it does.
 */
export function watchFiles(files: readonly string[], changed: () => void): () => void {
  const began = Date.now();
  let timer: NodeJS.Timeout | undefined;
  let stops: (() => void)[] = [];
  let isStopped = false;
  const settle = (): void => {
    clearTimeout(timer);
    timer = setTimeout(changed, SETTLE).unref();
  };
  const begin = async (): Promise<void> => {
    const { watchFolder } = await import("../../base/file/watch-folder.ts");
    if (isStopped) return;
    stops = [...Map.groupBy(files, dirname)].map(([folder, inside]) => {
      const names = new Set(inside.map((file) => basename(file)));
      return watchFolder(folder, (name) => {
        if (name === undefined ? inside.some((file) => existsSync(file)) : names.has(name))
          settle();
      });
    });
    if (files.some((file) => changedSince(file, began))) settle();
  };
  const start = setTimeout(() => background(begin(), "Watching files"), AFTER_START).unref();
  return () => {
    isStopped = true;
    clearTimeout(start);
    clearTimeout(timer);
    for (const stop of stops) stop();
  };
}

/** Milliseconds by which the clock of file time stamps may be behind. */
const STAMP_LAG = 50;

function changedSince(file: string, time: number): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > time - STAMP_LAG;
}
