import { existsSync } from "node:fs";
import { join } from "node:path";

import { Lazy } from "../../base/lazy.ts";
import type { Principal } from "../../base/principal.ts";
import type { Agent } from "../../session/agent.ts";
import type { SessionSetup } from "../../session/session-setup.ts";
import type { SharedCheckpoints } from "../workspace/shared-checkpoints.ts";
import type { AppContext } from "../../config/app-context.ts";
import type { OpenedRuns } from "./open-runs.ts";

/** Remote runs, loaded and opened for the first request. */
export class LazyRuns implements AsyncDisposable {
  readonly #runs: Lazy<OpenedRuns>;
  #opened: OpenedRuns | undefined;

  /** `carried` stores checkpoints for other machines, if there are some. */
  constructor(app: AppContext, carried?: SharedCheckpoints) {
    this.#runs = new Lazy(async () => {
      const { openRuns } = await import("./open-runs.ts");
      return (this.#opened = await openRuns(app, carried));
    });
  }

  /** The workspace of a new session whose `_meta.remote` asks for a run; undefined for others. */
  async place(
    { _meta }: { readonly _meta?: unknown },
    principal: Principal,
  ): Promise<SessionSetup | undefined> {
    const { remote } = (_meta ?? {}) as { remote?: unknown };
    if (remote === undefined || remote === null) return undefined;
    return (await this.#runs.get()).place(_meta, principal);
  }

  /** Throws if there can be none. */
  async check(): Promise<void> {
    await this.#runs.get();
  }

  /** The agent of a session that is a run, or a visitor. */
  async agent(name: string, run: unknown): Promise<Agent> {
    return (await this.#runs.get()).agent(name, run);
  }

  /** Removes everything that is stored about a run whose session is deleted. */
  async remove(run: unknown): Promise<void> {
    await (await this.#runs.get()).remove(run);
  }

  /** Unmounts what a killed process has left in the data folder, if there are runs. */
  async sweep(data: string): Promise<void> {
    if (existsSync(join(data, "run/work"))) await this.#runs.get();
  }

  /** See `OpenedRuns.repositories`. */
  get repositories(): readonly string[] {
    return this.#opened?.repositories() ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#runs.opened())?.[Symbol.asyncDispose]();
  }
}
