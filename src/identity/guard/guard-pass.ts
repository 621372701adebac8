import { join } from "node:path";

import { RecordFile } from "../../store/record-file.ts";

/** Allows one commit or push of a work tree, whatever the guard finds. */
export interface GuardPass {
  readonly worktree: string;
  readonly reason: string | undefined;
  readonly until: string;
}

const LASTS = 10 * 60_000;

/** Unused passes. Each is valid for one work tree, once, for ten minutes. */
export class GuardPasses {
  readonly #file: RecordFile<GuardPass>;

  constructor(data: string) {
    this.#file = new RecordFile(join(data, "identity", "passes.json"));
  }

  async give(worktree: string, reason?: string): Promise<GuardPass> {
    const pass = { worktree, reason, until: new Date(Date.now() + LASTS).toISOString() };
    await this.#file.change(worktree, () => pass);
    return pass;
  }

  /** Consumes the pass of a work tree, if there is a valid one. */
  async take(worktree: string): Promise<GuardPass | undefined> {
    if ((await this.#file.get(worktree)) === undefined) return undefined;
    let pass: GuardPass | undefined;
    await this.#file.change(worktree, (known) => {
      pass = known;
      return undefined;
    });
    return pass !== undefined && Date.parse(pass.until) > Date.now() ? pass : undefined;
  }
}
