import { existsSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";

import { watchFolder } from "../base/file/watch-folder.ts";

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
  const start = setTimeout(() => {
    stop = watchFolders(files, began, changed);
  }, AFTER_START).unref();
  return () => {
    clearTimeout(start);
    stop?.();
  };
}

/** Milliseconds without another change: editors write a file in several steps. */
const SETTLE = 100;
/** The most milliseconds to wait in all, since a file may change all the time. */
const LONGEST_SETTLE = 1_000;

/** Watches the folders of files, and calls back after one has changed since a time. */
function watchFolders(files: readonly string[], began: number, changed: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  /** The time of the first change that has not been reported. */
  let since: number | undefined;
  const report = (): void => {
    since = undefined;
    changed();
  };
  const settle = (): void => {
    since ??= Date.now();
    if (Date.now() - since > LONGEST_SETTLE) return;
    clearTimeout(timer);
    timer = setTimeout(report, SETTLE).unref();
  };
  const stops = [...Map.groupBy(files, dirname)].map(([folder, inside]) => {
    const names = new Set(inside.map((file) => basename(file)));
    return watchFolder(folder, (name) => {
      if (name === undefined ? inside.some((file) => existsSync(file)) : names.has(name)) settle();
    });
  });
  if (files.some((file) => changedSince(file, began))) settle();
  return () => {
    clearTimeout(timer);
    for (const stop of stops) stop();
  };
}

/** Milliseconds by which the clock of file time stamps may be behind. */
const STAMP_LAG = 50;

function changedSince(file: string, time: number): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > time - STAMP_LAG;
}
