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

/**
 * Unmounts workspaces that killed processes left open, and hibernates idle ones, until it is disposed of:
 * then it stops after the current workspace.
 */
export function tidy({ workspaces, cache, hibernateAfter, log }: TidyOptions): AsyncDisposable {
  const closed = new Stopper();
  const hibernation = {
    after: hibernateAfter,
    repositoryOf: (key: string) => cache.byKey(key),
    stop: closed,
    // A workspace that cannot hibernate stays as it is.
    failed: (workspace: string, error: unknown): void => {
      log.warn("run.not-hibernated", { workspace, error });
    },
  };
  let work = workspaces.sweep();
  background(work, "Unmounting workspaces of killed processes");
  const hibernate = (): void => {
    work = work.catch(() => {}).then(() => workspaces.hibernate(hibernation));
    background(work, "Hibernating workspaces");
  };
  const timer = setInterval(hibernate, EVERY).unref();
  hibernate();
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      closed.stop(new TrunklineError("closed", "Trunkline is stopping"));
      await work.catch(() => {});
    },
  };
}
