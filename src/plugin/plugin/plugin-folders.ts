import { readdirSync } from "node:fs";
import { join } from "node:path";

import { makeFolder } from "../../base/file/path.ts";
import { FileLock } from "../../store/file-lock.ts";
import type { BusCertificates } from "../bus-certificates.ts";
import { noteBus, type RunningBus } from "../running-buses.ts";
import { PluginFolder, removeFolder } from "./plugin-folder.ts";

/** Its holder's folders are in use for as long as it is held. */
export const LOCK = "lock";
/** The plugins' folders are in this one: an id may be the name of a file that the bus keeps. */
const PLUGINS = "plugins";

/**
 * The folders in which plugins find their certificates. Each run of a bus has its own, which are gone
 * with it; those of a run that was killed go with the next one.
 */
export class PluginFolders implements AsyncDisposable {
  readonly #certificates: BusCertificates;
  readonly #parent: string;
  #run: Promise<RunFolder> | undefined;

  constructor(parent: string, certificates: BusCertificates) {
    this.#parent = parent;
    this.#certificates = certificates;
  }

  async make(id: string): Promise<PluginFolder> {
    const folder = join(await this.#begun(), PLUGINS, id);
    return PluginFolder.make(folder, id, this.#certificates);
  }

  /** Tells other processes where the bus listens, for as long as it runs. */
  async note(bus: RunningBus): Promise<void> {
    await noteBus(await this.#begun(), bus);
  }

  async #begun(): Promise<string> {
    this.#run ??= openRunFolder(this.#parent);
    try {
      return (await this.#run).path;
    } catch (error) {
      // Where it could not be begun, the next start of a plugin tries again.
      this.#run = undefined;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    (await this.#run?.catch(() => undefined))?.[Symbol.dispose]();
  }
}

/** A folder for as long as this process needs it. */
export interface RunFolder extends Disposable {
  readonly path: string;
}

/** Makes a folder in another one, in which it removes those of processes that were killed. */
export async function openRunFolder(parent: string): Promise<RunFolder> {
  makeFolder(parent, 0o700);
  // One at a time: a folder that is being made looks like one whose owner is gone.
  using _ = await FileLock.take(join(parent, LOCK));
  for (const name of readdirSync(parent)) {
    if (name !== LOCK) await removeAbandoned(join(parent, name));
  }
  const path = join(parent, crypto.randomUUID());
  makeFolder(path, 0o700);
  const lock = await FileLock.take(join(path, LOCK));
  return {
    path,
    [Symbol.dispose]: () => {
      removeFolder(path);
      lock[Symbol.dispose]();
    },
  };
}

async function removeAbandoned(path: string): Promise<void> {
  try {
    using _ = await FileLock.take(join(path, LOCK), 0);
    removeFolder(path);
  } catch {
    // It is in use, or somebody else's.
  }
}
