import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { TrunklineError } from "../base/errors.ts";
import { GitConfig } from "./config/git-config.ts";
import { Git } from "./git.ts";
import { parseRemoteUrl } from "../base/remote-url.ts";
import { remotesOf } from "./remotes.ts";
import { openRepository } from "./repository.ts";

/** A commit of a repository that others can fetch. */
export interface RemoteRevision {
  readonly url: string;
  /** The short name of the requested branch; empty if a hash or a tag was requested. */
  readonly branch: string;
  readonly revision: string;
}

/** Where a repository without a remote is, for whoever can fetch from here. */
export interface LocalRevision extends RemoteRevision {
  readonly isLocal?: true;
}

const HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** What `git ls-remote --symref` says of these refs of a repository. */
export type ListRefs = (url: string, refs: readonly string[]) => Promise<string>;

/**
 * Resolves a revision to a commit. `repository` is an address, or a folder: then it is the address
 * that the folder's repository pushes to. `wanted` is a hash, a branch or a tag; without it, the
 * commit that is checked out in the folder, or the default branch of the address.
 *
 * A folder without a remote is its own address, if `isHere` says that it is fetched from here.
 */
export async function resolveRemoteRevision(
  repository: string,
  wanted: string | undefined,
  cwd: string,
  list: ListRefs,
  { isHere = false }: { readonly isHere?: boolean | undefined } = {},
): Promise<LocalRevision> {
  const folder = resolve(cwd, repository);
  if (!existsSync(folder)) {
    // A bare word is a path to git; nobody means a repository that is not there.
    if (parseRemoteUrl(repository).transport !== "file" || repository.startsWith("file:")) {
      return await onRemote(list, repository, wanted);
    }
    const says = `There is no folder '${repository}', and it is not the address of a repository, such as https://example.com/team/app.git.`;
    throw new TrunklineError("not-found", says);
  }
  const git = new Git(folder);
  const pushed = await addressOf(git);
  if (pushed === undefined && !isHere) {
    const says = `The repository in '${folder}' has no remote, and a server cannot fetch from here. Add one with \`git remote add\`, or name an address.`;
    throw new TrunklineError("not-found", says);
  }
  const url = pushed ?? pathToFileURL(await placeOf(git)).href;
  const local: { isLocal?: true } = pushed === undefined ? { isLocal: true } : {};
  if (wanted !== undefined && !HASH.test(wanted)) {
    return { ...(await onRemote(list, url, wanted)), ...local };
  }
  return { url, branch: "", revision: wanted ?? (await headOf(git)), ...local };
}

/** Whether a folder has changes that no commit has, so that nobody can fetch them. */
export async function hasUncommitted(repository: string, cwd: string): Promise<boolean> {
  const folder = resolve(cwd, repository);
  if (!existsSync(folder)) return false;
  const git = new Git(folder);
  // A bare repository has no files that could be changed.
  const { worktree } = await openRepository(git);
  return worktree !== undefined && (await git.text(["status", "--porcelain"])) !== "";
}

/** The folder by which git finds a repository. */
async function placeOf(git: Git): Promise<string> {
  const { worktree, gitDir } = await openRepository(git);
  return worktree ?? gitDir;
}

async function headOf(git: Git): Promise<string> {
  const { code, stdout } = await git.run(["rev-parse", "--verify", "-q", "HEAD^{commit}"], {
    accepts: [0, 1, 128],
  });
  if (code === 0) return stdout.toString("utf8").trim();
  const says = `The repository in '${git.folder}' has no commit yet. Commit something first.`;
  throw new TrunklineError("not-found", says);
}

/** The address that a repository pushes to; undefined if it has no remote. */
async function addressOf(git: Git): Promise<string | undefined> {
  if ((await git.run(["rev-parse", "--git-dir"], { accepts: [0, 128] })).code !== 0) {
    const says = `'${git.folder}' is not in a git repository. Name a folder that is, or an address.`;
    throw new TrunklineError("not-found", says);
  }
  const [remote] = remotesOf(await GitConfig.read(git));
  return (remote?.push[0] ?? remote?.fetch[0])?.effective;
}

async function onRemote(
  list: ListRefs,
  url: string,
  wanted: string | undefined,
): Promise<RemoteRevision> {
  if (wanted !== undefined && HASH.test(wanted)) return { url, branch: "", revision: wanted };
  const names =
    wanted === undefined
      ? ["HEAD"]
      : [`refs/heads/${wanted}`, `refs/tags/${wanted}^{}`, `refs/tags/${wanted}`];
  const listed = await list(url, names);
  const found = new Map(
    Array.from(listed.matchAll(/^([0-9a-f]+)\t(.+)$/gm), ([, hash = "", ref = ""]) => [ref, hash]),
  );
  const ref = names.find((name) => found.has(name));
  const revision = found.get(ref ?? "");
  if (ref === undefined || revision === undefined) {
    const what = wanted === undefined ? "no commits" : `no branch or tag '${wanted}'`;
    const next = wanted === undefined ? "" : " A commit is named by its full hash.";
    throw new TrunklineError("not-found", `There is ${what} in '${url}'.${next}`);
  }
  const target = ref === "HEAD" ? /^ref: (\S+)\tHEAD$/m.exec(listed)?.[1] : ref;
  const branch = target?.startsWith("refs/heads/") ? target.slice("refs/heads/".length) : "";
  return { url, branch, revision };
}
