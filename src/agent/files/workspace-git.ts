import { TrunklineError } from "../../base/errors.ts";
import { Git, type GitAnswer, type GitCall } from "../../git/git.ts";
import type { Workspace } from "./workspace.ts";
import type { TurnFiles } from "./turn-files.ts";

/** Runs git in the workspace. Outside a repository the error says how to create one. */
export async function workspaceGit(
  { cwd }: Workspace,
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

/** Changed and new files in the workspace, compared with HEAD, with their absolute paths. */
export async function workingChanges({ workspace }: TurnFiles, signal: AbortSignal) {
  const status = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"];
  const { stdout } = await workspaceGit(workspace, [...status, "--", "."], { signal });
  const top = await workspaceGit(workspace, ["rev-parse", "--show-toplevel"], { signal });
  const root = top.stdout.toString("utf8").replace(/\n$/, "");
  const records = stdout.toString("utf8").split("\0").filter(Boolean);
  return records.map((record) => {
    const path = `${root}/${record.slice(3)}`;
    const status = record.slice(0, 2);
    return { path, name: workspace.nameOf(path), status, isNew: status === "??" };
  });
}

/** Content of a file in HEAD; undefined where it did not exist. */
export async function committedText(files: TurnFiles, path: string): Promise<string | undefined> {
  const name = files.workspace.nameOf(path);
  const args = ["show", `HEAD:./${name}`];
  const { code, stdout } = await workspaceGit(files.workspace, args, { accepts: [0, 128] });
  return code === 0 ? stdout.toString("utf8") : undefined;
}
