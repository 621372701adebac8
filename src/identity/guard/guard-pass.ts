import { createHash } from "node:crypto";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

import { replaceFile, withLock } from "../../store/replace-file.ts";

/** Allows one commit or push of a work tree, whatever the guard finds. */
export interface GuardPass {
  readonly worktree: string;
  readonly reason: string | undefined;
  readonly until: string;
}

const LASTS = 10 * 60_000;

/** Unused passes. Each is valid for one work tree, once, for ten minutes. */
export class GuardPasses {
  readonly #folder: string;

  constructor(data: string) {
    this.#folder = join(data, "identity", "passes");
  }

  async give(worktree: string, reason?: string): Promise<GuardPass> {
    const pass = { worktree, reason, until: new Date(Date.now() + LASTS).toISOString() };
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await replaceFile(this.#pathOf(worktree), `${JSON.stringify(pass)}\n`);
    return pass;
  }

  /** Consumes the pass of a work tree, if there is a valid one. */
  async take(worktree: string): Promise<GuardPass | undefined> {
    const path = this.#pathOf(worktree);
    if ((await this.#read(path)) === undefined) return undefined;
    return await withLock(join(this.#folder, "lock"), async () => {
      const pass = await this.#read(path);
      await rm(path, { force: true });
      return pass !== undefined && Date.parse(pass.until) > Date.now() ? pass : undefined;
    });
  }

  async #read(path: string): Promise<GuardPass | undefined> {
    try {
      return JSON.parse(await readFile(path, "utf8")) as GuardPass;
    } catch {
      return undefined;
    }
  }

  #pathOf(worktree: string): string {
    return join(this.#folder, `${createHash("sha256").update(worktree).digest("hex")}.json`);
  }
}
