import { TrunklineError } from "../../base/errors.ts";
import { Git } from "../../git/git.ts";

/** The content of a file in a commit. */
export async function fileInCommit(
  root: string,
  commit: string,
  path: string,
): Promise<Uint8Array | undefined> {
  const args = ["cat-file", "blob", `${commit}:${path}`];
  const { code, stdout } = await new Git(root).run(args, { accepts: [0, 1, 128] });
  return code === 0 ? stdout : undefined;
}

/** Whether a commit contains a file or folder. */
export async function isInCommit(root: string, commit: string, path: string): Promise<boolean> {
  const args = ["cat-file", "-e", `${commit}:${path}`];
  return (await new Git(root).run(args, { accepts: [0, 1, 128] })).code === 0;
}

/** The full id of a commit. Throws "not-found" if there is none. */
export async function commitId(root: string, commit: string): Promise<string> {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${commit}^{commit}`];
  const { code, stdout } = await new Git(root).run(args, { accepts: [0, 1, 128] });
  if (code === 0) return stdout.toString("utf8").trim();
  throw new TrunklineError("not-found", `There is no commit '${commit}' in '${root}'.`);
}
