import { readdirSync } from "node:fs";
import { basename, dirname } from "node:path";

import type { DropFiles, DropFilesOptions } from "./drop-files.ts";
import { watchFolder } from "../../base/file/watch-folder.ts";

/** Between the name of a drop file and the id of the process that has renamed it. */
export const TAKEN = ".taken-";
/** The folder with the locks of processes that have renamed files. */
export const HOLDERS = ".trunkline";

/**
 * Waits for the first drop file. Hardly anyone has any: what takes them in is loaded only then, and
 * files that others write beside them, such as the audit, are not looked at.
 */
export class DropPlaces implements AsyncDisposable {
  readonly #options: DropFilesOptions;
  readonly #folders: ReadonlySet<string>;
  readonly #stops: (() => void)[] = [];
  #taking: Promise<DropFiles | undefined> | undefined;
  #isOver = false;

  constructor(options: DropFilesOptions) {
    this.#options = options;
    this.#folders = new Set([...options.files.map((file) => dirname(file)), options.inbox]);
  }

  /** Whether there has been one. */
  get isTaking(): boolean {
    return this.#taking !== undefined;
  }

  begin(): void {
    for (const folder of this.#folders) {
      const look = (): boolean => namesIn(folder).some((name) => this.#isDropFile(folder, name));
      const changed = (name: string | undefined): void => {
        if (name === undefined ? look() : this.#isDropFile(folder, name)) this.#take();
      };
      this.#stops.push(watchFolder(folder, changed));
      changed(undefined);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    for (const stop of this.#stops) stop();
    await (await this.#taking)?.[Symbol.asyncDispose]();
  }

  /** Locks count as well: those of a process that was killed have to be removed. */
  #isDropFile(folder: string, name: string): boolean {
    const { files, inbox } = this.#options;
    if (name === HOLDERS || (folder === inbox && /\.json(?:\.taken-|$)/.test(name))) return true;
    return files.some((file) => dirname(file) === folder && isOf(file, name));
  }

  #take(): void {
    this.#taking ??= this.#load().catch((error: unknown) => {
      this.#options.report("review.drop-file", { error });
      return undefined;
    });
  }

  async #load(): Promise<DropFiles | undefined> {
    const { DropFiles } = await import("./drop-files.ts");
    if (this.#isOver) return undefined;
    const drops = new DropFiles(this.#options);
    drops.begin();
    for (const stop of this.#stops.splice(0)) stop();
    return drops;
  }
}

/** Whether a name is that of a drop file, or the one that it got when it was taken. */
export function isOf(file: string, name: string): boolean {
  return name === basename(file) || name.startsWith(`${basename(file)}${TAKEN}`);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
