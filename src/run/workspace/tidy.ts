import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { Stopper } from "../../base/stop.ts";
import type { RepositoryCache } from "../repository-cache.ts";
import type { Workspaces } from "./workspace.ts";

export interface TidyOptions {
  readonly workspaces: Workspaces;
  readonly cache: RepositoryCache;
  /** Milliseconds after which a closed workspace hibernates even if it has files that git ignores. */
  readonly hibernateAfter: number;
  readonly log: Log;
}

/** Milliseconds between two checks for workspaces that can hibernate. */
const EVERY = 60_000;

/** Unmounts workspaces that killed processes left open, and hibernates idle ones. */
export class Tidy implements AsyncDisposable {
  readonly #options: TidyOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #closed = new Stopper();
  #work: Promise<void>;

  constructor(options: TidyOptions) {
    this.#options = options;
    this.#work = options.workspaces.sweep();
    background(this.#work, "Unmounting workspaces of killed processes");
    const hibernate = (): void => background(this.#hibernate(), "Hibernating workspaces");
    this.#timer = setInterval(hibernate, EVERY).unref();
    hibernate();
  }

  /** Stops the background work after the current workspace. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#closed.stop(new TrunklineError("closed", "Trunkline is stopping"));
    await this.#work.catch(() => {});
  }

  #hibernate(): Promise<void> {
    const { workspaces, cache, hibernateAfter: after, log } = this.#options;
    const hibernation = {
      after,
      repositoryOf: (key: string) => cache.byKey(key),
      stop: this.#closed,
      // A workspace that cannot hibernate stays as it is.
      failed: (workspace: string, error: unknown): void => {
        log.warn("run.not-hibernated", { workspace, error });
      },
    };
    this.#work = this.#work.catch(() => {}).then(() => workspaces.hibernate(hibernation));
    return this.#work;
  }
}
