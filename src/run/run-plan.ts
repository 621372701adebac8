import { join } from "node:path";
import { TrunklineError } from "../base/errors.ts";
import { ServerGit } from "../git/server/server-git.ts";
import { BASE, CHECKPOINT } from "./deliver.ts";
import type { RequestMode } from "./pull-request.ts";
import type { RemoteRef } from "./remote-ref.ts";

/** What is decided about a run before anything is fetched, and stored with its session. */
export interface RunPlan extends RemoteRef {
  /** The name of its workspace. */
  readonly workspace: string;
  /** The short name of the branch that it works on. */
  readonly target: string;
  /** How the branch is offered for merging. */
  readonly pullRequest?: RequestMode | undefined;
  /** Set-up is tried even if it has just failed. */
  readonly retrySetup?: boolean | undefined;
  /** Patterns of the repositories that whoever asked for it may use; undefined if all. */
  readonly within?: readonly string[] | undefined;
  /** The name of the token that asked for it. */
  readonly token?: string | undefined;
}

const ID = /^[0-9a-z]{8,40}$/;

export function isPlan(value: unknown): value is RunPlan {
  const { url, revision, workspace, target } = (value ?? {}) as Partial<RunPlan>;
  const isNamed = typeof workspace === "string" && ID.test(workspace);
  return (
    isNamed &&
    target === `agent/${workspace}` &&
    [url, revision].every((it) => typeof it === "string")
  );
}

/** A plan with a workspace and a branch of its own. */
export function newPlan(
  ref: RemoteRef,
  options: Pick<RunPlan, "pullRequest" | "retrySetup" | "within" | "token"> = {},
): RunPlan {
  const workspace = newId();
  return { ...ref, workspace, target: `agent/${workspace}`, ...options };
}

/** Letters and digits only, because it is part of paths and of a branch name. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return Array.from(bytes, (byte) => (byte % 36).toString(36)).join("");
}

/**
 * The changes of a run as a patch for `git apply`: its commits, and the last checkpoint since then.
 * Nothing has to be running. `folder` is the folder of all runs.
 */
export async function patchOf(folder: string, plan: unknown): Promise<string> {
  if (!isPlan(plan)) {
    const says = "The session is not a remote run: its changes are in its own folder.";
    throw new TrunklineError("usage", says);
  }
  const gitDir = join(folder, "work", plan.workspace, "git");
  const git = new ServerGit({ gitDir, askpass: "/bin/false" });
  const head = `refs/heads/${plan.target}`;
  const isNewest = (await git.resolve(`${CHECKPOINT}^`)) === (await git.text(["rev-parse", head]));
  const { stdout } = await git.run([
    ...["diff", "--binary", "--full-index", BASE],
    isNewest ? CHECKPOINT : head,
  ]);
  // Not trimmed: its last lines may be blank.
  return stdout.toString("utf8");
}
