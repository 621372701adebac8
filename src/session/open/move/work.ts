import { existsSync, lstatSync } from "node:fs";
import { copyFile, mkdir, rm, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { TrunklineError } from "../../../base/errors.ts";
import { readRegularFile } from "../../../base/file/read-regular-file.ts";
import { copyIndex } from "../../../git/copy-index.ts";
import { authorVariables, type Git, type GitCall } from "../../../git/git.ts";
import type { MovedWork } from "../../../store/schema.gen.ts";
import { currentBranch, HEADS } from "../../../worktree/branches.ts";
import { LARGEST_BUNDLE, refusal } from "./bundle.ts";

/** What git keeps in a repository while something is not finished. */
const UNFINISHED: Readonly<Record<string, string>> = {
  MERGE_HEAD: "a merge",
  CHERRY_PICK_HEAD: "a cherry-pick",
  REVERT_HEAD: "a revert",
  "rebase-merge": "a rebase",
  "rebase-apply": "a rebase",
  BISECT_LOG: "a bisection",
};
export const FILES = { mode: "files" } as const;
const ASKS = { accepts: [0, 1, 128] } as const;
/** The work of the last move. */
const LAST = "refs/heads/last";
/** Files are stored and written byte for byte. */
const AS_IT_IS = "* -text -ident -filter !eol !working-tree-encoding\n";

/**
 * A repository of ours that looks at a work tree of another one: it has the objects of moves, and sees those
 * of the other. Nothing that either configures changes the bytes of a file.
 */
export interface Shadow {
  readonly git: Git;
  readonly call: GitCall & { readonly env: { readonly GIT_INDEX_FILE: string } };
}

export async function openShadow(git: Git, folder: string, isLong = false): Promise<Shadow> {
  if (!existsSync(folder)) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const format = isLong ? ["--object-format=sha256"] : [];
    await git.in(folder).run(["init", "--bare", "--quiet", "--template=", ...format], FILES);
  }
  await mkdir(join(folder, "info"), { recursive: true });
  await writeFile(join(folder, "info", "attributes"), AS_IT_IS);
  if (existsSync(join(git.folder, ".git"))) {
    const pathOf = (name: string): Promise<string> =>
      git.text(["rev-parse", "--path-format=absolute", "--git-path", name]);
    const seen = join(folder, "objects", "info", "alternates");
    await writeFile(seen, `${await pathOf("objects")}\n`);
    for (const name of ["info/exclude", "shallow"]) {
      await copyFile(await pathOf(name), join(folder, name)).catch(() => {});
    }
  }
  const index = join(folder, "index");
  const env = { GIT_DIR: folder, GIT_WORK_TREE: git.folder, GIT_INDEX_FILE: index };
  return { git, call: { ...FILES, env } };
}

/**
 * Makes commits of everything in a work tree: of its index, and of its files byte for byte. `carried` are
 * ignored files that go along.
 */
export async function captureWork(
  { git, call }: Shadow,
  carried: readonly string[],
): Promise<MovedWork> {
  const gitDir = await git.text(["rev-parse", "--absolute-git-dir"]);
  const unfinished = Object.keys(UNFINISHED).find((name) => existsSync(join(gitDir, name)));
  const conflicts = await git.list(["ls-files", "--unmerged", "-z"]);
  if (unfinished !== undefined || conflicts.length > 0) {
    const what = UNFINISHED[unfinished ?? ""] ?? "a merge";
    const says = `Cannot move the work: ${what} is in progress in '${git.folder}'. Finish or abort it first.`;
    throw new TrunklineError("conflict", says);
  }
  const head = await git.text(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], ASKS);
  const parents = head === "" ? [] : [head];
  const { GIT_INDEX_FILE: copy } = call.env;
  await rm(copy, { force: true });
  if (existsSync(join(gitDir, "index"))) await copyIndex(join(gitDir, "index"), copy);
  const index = await commitIndex({ git, call }, parents);
  await showHidden({ git, call });
  await git.run(["add", "--all"], call);
  if (carried.length > 0) await git.run(["add", "--force", "--", ...carried], call);
  const tree = await commitIndex({ git, call }, [...parents, index]);
  const shallow = readRegularFile(join(call.env.GIT_INDEX_FILE, "../shallow"), { most: 1_000_000 });
  const branch = (await currentBranch(git)) ?? "";
  return {
    head,
    branch,
    index,
    tree,
    shallow: shallow?.toString("utf8").split("\n", 10_000) ?? [],
  };
}

/** Files that git was told not to look at count as all others, where they exist. */
async function showHidden({ git, call }: Shadow): Promise<void> {
  const listed = await git.list(["ls-files", "-v", "-z"], call);
  const hidden = listed.filter((line) => /^(?:S|[a-z]) /.test(line)).map((line) => line.slice(2));
  const isThere = (path: string): boolean =>
    lstatSync(join(git.folder, path), { throwIfNoEntry: false }) !== undefined;
  const input = hidden
    .filter(isThere)
    .map((path) => `${path}\0`)
    .join("");
  if (input === "") return;
  for (const option of ["--no-assume-unchanged", "--no-skip-worktree"]) {
    await git.run(["update-index", option, "-z", "--stdin"], { ...call, input });
  }
}

async function commitIndex({ git, call }: Shadow, parents: readonly string[]): Promise<string> {
  return await commitOf({ git, call }, await git.text(["write-tree"], call), parents);
}

export async function commitOf(
  { git, call }: Shadow,
  tree: string,
  parents: readonly string[],
): Promise<string> {
  const args = ["commit-tree", tree, ...parents.flatMap((each) => ["-p", each])];
  const dates = { GIT_AUTHOR_DATE: "@0 +0000", GIT_COMMITTER_DATE: "@0 +0000" };
  const env = { ...call.env, ...authorVariables(), ...dates };
  return await git.text([...args, "-m", "Moved by Trunkline"], { ...call, env });
}

/** The commit of the last move, if its objects are here; empty if they are not. */
export async function lastMove({ git, call }: Shadow, wanted = LAST): Promise<string> {
  const ask = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${wanted}^{commit}`];
  return await git.text(ask, { ...call, ...ASKS });
}

/** All objects of the work but those of a commit that the other side has. */
export async function packWork(shadow: Shadow, { tree }: MovedWork, have: string): Promise<Buffer> {
  const { git, call } = shadow;
  const known = have === "" ? "" : await lastMove(shadow, have);
  const input = `${tree}\n${known === "" ? "" : `^${known}\n`}`;
  const pack = ["pack-objects", "--revs", "--stdout", "--quiet"];
  const { stdout } = await git.run(pack, { ...call, input });
  await git.run(["update-ref", LAST, tree], call);
  return stdout;
}

/** Takes the objects of a pack. Git refuses damaged ones, and those whose names would be dangerous. */
export async function takeObjects(
  { git, call }: Shadow,
  { head, branch, index, tree, shallow }: MovedWork,
  pack: Buffer | undefined,
): Promise<void> {
  const take = ["index-pack", "--stdin", "--strict", `--max-input-size=${LARGEST_BUNDLE}`];
  const parentsOf = (commit: string): Promise<string> =>
    git.text(["rev-list", "--parents", "--max-count=1", commit], call);
  try {
    const listed = shallow.filter(Boolean).map((id) => `${id}\n`);
    const cut = join(call.env.GIT_INDEX_FILE, "../shallow");
    if (listed.length > 0 && !existsSync(cut)) await writeFile(cut, listed.join(""));
    await git.run(take, { ...call, input: pack ?? Buffer.alloc(0) });
    const isIndex = (await parentsOf(index)) === [index, head].join(" ").trim();
    const isTree = (await parentsOf(tree)) === [tree, head, index].filter(Boolean).join(" ");
    if (!isIndex || !isTree) throw refusal("its commits do not belong together");
    // All that it leads to is there.
    await git.run(["rev-list", "--objects", "--quiet", tree], call);
    if (branch !== "") await git.run(["check-ref-format", HEADS + branch]);
    await git.run(["update-ref", LAST, tree], call);
  } catch (error) {
    throw refusal(`git refuses its work (${(error as Error).message})`, error);
  }
}

/** Makes a work tree of ours exactly what the work is. Only files that git ignores stay as they are. */
export async function layOut(shadow: Shadow, { head, branch, index, tree, shallow }: MovedWork) {
  const { git, call } = shadow;
  if (branch !== "") await git.run(["symbolic-ref", "HEAD", HEADS + branch], FILES);
  const cut = shallow.filter(Boolean).map((id) => `${id}\n`);
  if (cut.length > 0) await writeFile(join(git.folder, ".git", "shallow"), cut.join(""));
  if (head !== "")
    await git.run(
      ["update-ref", "--no-deref", branch === "" ? "HEAD" : HEADS + branch, head],
      FILES,
    );
  await rm(call.env.GIT_INDEX_FILE, { force: true });
  await git.run(["read-tree", "--reset", "-u", tree], call);
  const others = await git.list(["ls-files", "--others", "--exclude-standard", "-z"], call);
  for (const path of others) if (!path.endsWith("/")) await unlink(join(git.folder, path));
  await setIndex(git, index);
}

export async function setIndex(git: Git, index: string): Promise<void> {
  await git.run(["read-tree", "--reset", index], FILES);
  await git.run(["update-index", "-q", "--refresh"], { ...FILES, accepts: [0, 1] });
}

/** Has a repository take over the objects that a shadow of it has. */
export async function giveObjects({ git, call }: Shadow, { tree }: MovedWork): Promise<void> {
  const listed = ["pack-objects", "--revs", "--local", "--stdout", "--quiet"];
  const { stdout } = await git.run(listed, { ...call, input: `${tree}\n` });
  await git.run(["index-pack", "--stdin"], { ...FILES, input: stdout });
}
