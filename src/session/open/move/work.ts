import { existsSync } from "node:fs";
import { mkdir, rm, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { TrunklineError } from "../../../base/errors.ts";
import { bytesOf } from "../../../base/file/file-change.ts";
import { copyIndex } from "../../../git/copy-index.ts";
import { authorVariables, type Git, type GitCall } from "../../../git/git.ts";
import { replaceFile } from "../../../store/replace-file.ts";
import type { MovedWork } from "../../../store/schema.gen.ts";
import { currentBranch, HEADS } from "../../../worktree/branches.ts";
import { LARGEST_BUNDLE, refusal } from "./bundle.ts";

/** What git keeps in a repository while something is not finished. */
const UNFINISHED = [
  "MERGE_HEAD",
  "CHERRY_PICK_HEAD",
  "REVERT_HEAD",
  "rebase-merge",
  "rebase-apply",
];
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

export async function openShadow(git: Git, folder: string): Promise<Shadow> {
  const attributes = join(folder, "info", "attributes");
  // Written last: without them, a kill would leave a repository that changes bytes.
  if (!existsSync(attributes)) {
    await mkdir(dirname(attributes), { recursive: true, mode: 0o700 });
    await git.in(folder).run(["init", "--bare", "--quiet", "--template="], FILES);
    await replaceFile(attributes, AS_IT_IS);
  }
  if (existsSync(join(git.folder, ".git"))) {
    const pathOf = (name: string): Promise<string> =>
      git.text(["rev-parse", "--path-format=absolute", "--git-path", name]);
    const seen = `${await pathOf("objects")}\n`;
    await writeFile(join(folder, "objects", "info", "alternates"), seen);
    const exclude = bytesOf(await pathOf("info/exclude")) ?? "";
    await writeFile(join(folder, "info", "exclude"), exclude);
  }
  const index = join(folder, "index");
  const literal = { GIT_LITERAL_PATHSPECS: "1" };
  const env = { GIT_DIR: folder, GIT_WORK_TREE: git.folder, GIT_INDEX_FILE: index, ...literal };
  return { git, call: { ...FILES, env } };
}

/**
 * Makes commits of everything in a work tree: of its index, and of its files byte for byte. `carried` are
 * ignored files that go along.
 */
export async function captureWork(
  { git, call }: Shadow,
  inside: string,
  carried: readonly string[],
): Promise<MovedWork> {
  const gitDir = await git.text(["rev-parse", "--absolute-git-dir"]);
  const conflicts = await git.list(["ls-files", "--unmerged", "-z"]);
  const isShallow = (await git.text(["rev-parse", "--is-shallow-repository"])) === "true";
  const isUnfinished = UNFINISHED.some((name) => existsSync(join(gitDir, name)));
  if (conflicts.length > 0 || isUnfinished || isShallow) {
    const why = isShallow
      ? `'${git.folder}' lacks a part of its history. Run \`git fetch --unshallow\` first`
      : `a merge or a rebase is in progress in '${git.folder}'. Finish or abort it first`;
    throw new TrunklineError("conflict", `Cannot move the work: ${why}.`);
  }
  const ask = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
  const head = await git.text(ask, ASKS);
  const parents = head === "" ? [] : [head];
  const { GIT_INDEX_FILE: copy } = call.env;
  await rm(copy, { force: true });
  if (existsSync(join(gitDir, "index"))) await copyIndex(join(gitDir, "index"), copy);
  const staged = await git.text(["write-tree"], call);
  const index = await commitOf({ git, call }, staged, parents);
  // Without what the index knows of the files, git looks at all of them, also those that it was told not to.
  await rm(copy, { force: true });
  await git.run(["read-tree", staged], call);
  await git.run(["add", "--all"], call);
  const also = carried.filter((path) => existsSync(join(git.folder, path)));
  if (also.length > 0) await git.run(["add", "--force", "--", ...also], call);
  const files = await git.text(["write-tree"], call);
  const tree = await commitOf({ git, call }, files, [...parents, index]);
  return { head, branch: (await currentBranch(git)) ?? "", index, tree, inside, carried };
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
  { head, branch, index, tree }: MovedWork,
  pack: Buffer | undefined,
): Promise<void> {
  const take = ["index-pack", "--stdin", "--strict", `--max-input-size=${LARGEST_BUNDLE}`];
  try {
    await git.run(take, { ...call, input: pack ?? Buffer.alloc(0) });
    // All that they lead to is there.
    const commits = [tree, index, head].filter(Boolean);
    await git.run(["rev-list", "--objects", "--quiet", ...commits], call);
    if (branch !== "") await git.run(["check-ref-format", HEADS + branch]);
    await git.run(["update-ref", LAST, tree], call);
  } catch (error) {
    throw refusal(`git refuses its work (${(error as Error).message})`, error);
  }
}

/** Refuses work whose links would lead the session's folder out of its work tree. */
export async function refuseLinks(
  { git, call }: Shadow,
  { tree }: MovedWork,
  inside: string,
): Promise<void> {
  const parts = inside.split("/").filter(Boolean);
  const above = parts.map((_, at) => parts.slice(0, at + 1).join("/"));
  if (above.length === 0) return;
  const ask = ["ls-tree", "--full-tree", "--format=%(objecttype)", tree, "--", ...above];
  const types = (await git.text(ask, call)).split("\n").filter(Boolean);
  if (types.every((type) => type === "tree")) return;
  throw refusal(`its folder '${inside}' is a file or a link in its work tree`);
}

/** Makes a work tree of ours exactly what the work is. Only files that git ignores stay as they are. */
export async function layOut(
  { git, call }: Shadow,
  { head, branch, index, tree }: MovedWork,
): Promise<void> {
  if (branch !== "") await git.run(["symbolic-ref", "HEAD", HEADS + branch], FILES);
  if (head !== "") await setHead(git, branch, head);
  await rm(call.env.GIT_INDEX_FILE, { force: true });
  await git.run(["read-tree", "--reset", "-u", tree], call);
  const others = await git.list(["ls-files", "--others", "--exclude-standard", "-z"], call);
  for (const path of others) if (!path.endsWith("/")) await unlink(join(git.folder, path));
  await setIndex(git, index);
}

export async function setHead(git: Git, branch: string, head: string): Promise<void> {
  const ref = branch === "" ? "HEAD" : HEADS + branch;
  await git.run(["update-ref", "--no-deref", ref, head], FILES);
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
