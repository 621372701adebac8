import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { Stopper } from "../../base/stop.ts";
import type { RepositoryCache } from "../repository-cache.ts";
import type { Workspaces } from "./workspace.ts";

export interface TidyOptions {
  readonly workspaces: Workspaces;
  readonly cache: RepositoryCache;
  /** Milliseconds after which a closed workspace is put away, with the loss of what git ignores. */
  readonly hibernateAfter: number;
  readonly log: Log;
}

/** Milliseconds between two looks for workspaces that can be put away. */
const EVERY = 60_000;

/** Lets go of workspaces that killed processes left open, and puts those away that nobody uses. */
export class Tidy implements AsyncDisposable {
  readonly #options: TidyOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #closed = new Stopper();
  #work: Promise<void>;

  constructor(options: TidyOptions) {
    this.#options = options;
    this.#work = options.workspaces.sweep();
    background(this.#work, "Letting go of workspaces that were left open");
    const hibernate = (): void => background(this.#hibernate(), "Putting workspaces away");
    this.#timer = setInterval(hibernate, EVERY).unref();
    hibernate();
  }

  /** Ends what is done in the background, after the workspace that it is at. */
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
      // One that cannot be put away stays as it is.
      failed: (workspace: string, error: unknown): void => {
        log.warn("run.not-hibernated", { workspace, error });
      },
    };
    this.#work = this.#work.catch(() => {}).then(() => workspaces.hibernate(hibernation));
    return this.#work;
  }
}
