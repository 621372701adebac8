import { mkdtempSync, mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";

import type { Confine } from "../../base/process/child-process.ts";
import { type KnownRepository, knownRepositories } from "./known-repositories.ts";
import { makeShadow, type Mount, type Shadow } from "./shadow-folder.ts";
import { takeOver } from "./take-over.ts";

/** The git folders that one command works in. */
export interface ShadowVisit {
  readonly mounts: readonly Mount[];
  /** Takes over what the command did; `confine` has to mount the same. Returns what was not, in words. */
  end(confine: Confine): Promise<string[]>;
}

/**
 * The repositories of a session, whose git folders commands do not write to. Each command gets git folders
 * of its own in their place, and what it has done in them is checked and taken over when it has ended.
 */
export class ShadowGit {
  readonly #data: string;
  readonly #repositories: readonly KnownRepository[];

  constructor(data: string, folders: readonly string[]) {
    this.#data = data;
    this.#repositories = knownRepositories(folders);
  }

  enter(): ShadowVisit {
    mkdirSync(this.#data, { recursive: true, mode: 0o700 });
    const work = mkdtempSync(join(this.#data, `command-${process.pid}-`));
    const shadows: Shadow[] = [];
    const mounts: Mount[] = [];
    for (const [count, repository] of this.#repositories.entries()) {
      if (repository.problem !== undefined) continue;
      const folder = join(work, String(count));
      mkdirSync(folder);
      const shadow = makeShadow(repository, String(count), folder);
      shadows.push(shadow);
      mounts.push(...shadow.mounts);
    }
    return {
      mounts,
      end: async (confine) => {
        const notes: string[] = [];
        for (const shadow of shadows) notes.push(...(await takeOver(shadow, confine)));
        await rm(work, { recursive: true, force: true });
        return notes;
      },
    };
  }
}
