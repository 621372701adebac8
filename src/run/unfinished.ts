import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

import { isMarkOfEnded, ownMark } from "../base/process/process-mark.ts";

/** The name of a folder while this process creates or removes it. */
export function unfinishedName(name: string): string {
  return `${name}.unfinished-${ownMark()}`;
}

/** Removes the unfinished folders of processes that have ended. */
export async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const [, mark = ""] = /\.unfinished-(\d+-\w+)$/.exec(name) ?? [];
    if (isMarkOfEnded(mark)) await rm(join(folder, name), { recursive: true, force: true });
  }
}
