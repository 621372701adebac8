import { join } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { ServerGit } from "../git/server/server-git.ts";
import { BASE, CHECKPOINT } from "./deliver.ts";
import { isPlan } from "./run-plan.ts";

/**
 * The changes of a run as a patch for `git apply`: its commits, and the last checkpoint since then.
 * Nothing has to be running. `folder` is the folder of all runs.
 */
export async function patchOf(folder: string, plan: unknown): Promise<string> {
  if (!isPlan(plan)) {
    throw new TrunklineError(
      "usage",
      "The session is not a remote run: its changes are in its own folder.",
    );
  }
  const gitDir = join(folder, "work", plan.workspace, "git");
  const git = new ServerGit({ gitDir, askpass: "/bin/false" });
  const head = `refs/heads/${plan.target}`;
  const kept = await git.run(["rev-parse", "--quiet", "--verify", `${CHECKPOINT}^`], {
    accepts: [0, 1],
  });
  const isNewest =
    kept.code === 0 &&
    kept.stdout.toString("utf8").trim() === (await git.text(["rev-parse", head]));
  return await git.text(["diff", "--binary", "--full-index", BASE, isNewest ? CHECKPOINT : head]);
}
