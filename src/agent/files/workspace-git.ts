import { TrunklineError } from "../../base/errors.ts";
import { Git, type GitAnswer, type GitCall } from "../../git/git.ts";
import type { Places } from "./places.ts";

/** Runs git in the folder of a workspace. Where that is in no repository, says so as to a guest. */
export async function workspaceGit(
  { cwd }: Places,
  args: readonly string[],
  call: GitCall,
): Promise<GitAnswer> {
  try {
    return await new Git(cwd).run(args, call);
  } catch (error) {
    if (!(error instanceof TrunklineError) || error.code !== "not-found") throw error;
    const says = `'${cwd}' is not in a git repository. \`git init\` makes it one.`;
    throw new TrunklineError("not-found", says, { cause: error });
  }
}
