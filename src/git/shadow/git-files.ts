import { lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { readRegularFile } from "../../base/file/read-regular-file.ts";

/** Bytes. */
const MOST_FILE = 4 * 1024 * 1024;
export const MOST_INDEX = 1024 * 1024 * 1024;

/** A file of a git folder; no part of its path below that may be a link. */
export function fileIn(folder: string, path: string, most = MOST_FILE): Buffer | undefined {
  const parts = path.split("/");
  for (let count = 1; count < parts.length; count++) {
    if (!isFolder(join(folder, ...parts.slice(0, count)))) return undefined;
  }
  return readRegularFile(join(folder, path), { most, followsLinks: false });
}

export function textIn(folder: string, path: string): string | undefined {
  return fileIn(folder, path)?.toString("utf8");
}

export function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

export function put(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** Copies the files of a folder and of those in it, and no links. */
export function copyTree(from: string, to: string): void {
  if (!isFolder(from)) return;
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyTree(source, target);
    else if (entry.isFile()) writeFileSync(target, fileIn(from, entry.name, MOST_INDEX) ?? "");
  }
}

/** Files with the state of a merge, cherry-pick or revert. They contain only ids and messages. */
export const STATE_FILES = [
  ...["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "ORIG_HEAD", "FETCH_HEAD"],
  ...["MERGE_MODE", "MERGE_MSG", "SQUASH_MSG"],
];

/** Their contents, as bytes, one character each. */
export function stateFiles(folder: string): Record<string, string> {
  return Object.fromEntries(
    STATE_FILES.flatMap((name) => {
      const content = fileIn(folder, name);
      return content === undefined ? [] : [[name, content.toString("latin1")] as const];
    }),
  );
}

/** The refs that are checked out in other work trees of a repository. */
export function checkedOutElsewhere(gitDir: string, commonDir: string): Set<string> {
  const trees = join(commonDir, "worktrees");
  const linked = isFolder(trees) ? readdirSync(trees).map((name) => join(trees, name)) : [];
  const others = [commonDir, ...linked].filter((folder) => folder !== gitDir && isFolder(folder));
  const heads = others.map((folder) => textIn(folder, "HEAD")?.trim() ?? "");
  return new Set(heads.filter((head) => head.startsWith("ref: ")).map((head) => head.slice(5)));
}

/** Bytes of all packed refs, and of one file. */
const [MOST_PACKED, MOST_LOOSE] = [256 * 1024 * 1024, 4 * 1024];

export const ID = /^[0-9a-f]{40}$/;
export const ZERO = "0".repeat(40);

/** The refs of a git folder that only we and the person write. */
export interface Refs {
  readonly ids: ReadonlyMap<string, string>;
  /** Symbolic refs, such as `refs/remotes/origin/HEAD`. */
  readonly symbolic: ReadonlyMap<string, string>;
}

/** Reads all refs without git, since this happens before each command. Throws if a file is not in git's format. */
export function readRefs(folder: string): Refs {
  const ids = new Map<string, string>();
  const symbolic = new Map<string, string>();
  const packed = read(folder, "packed-refs", MOST_PACKED) ?? "";
  for (const line of packed.split("\n")) {
    if (line === "" || line.startsWith("#") || line.startsWith("^")) continue;
    ids.set(line.slice(41), requireId(line.slice(0, 40), line.slice(41)));
  }
  for (const name of filesIn(folder, "refs")) {
    const content = (read(folder, name, MOST_LOOSE) ?? "").trimEnd();
    if (content.startsWith("ref: ")) symbolic.set(name, content.slice("ref: ".length));
    // A power failure while git writes can leave an empty file.
    else if (content !== "") ids.set(name, requireId(content, name));
  }
  return { ids, symbolic };
}

/** As git packs them, without the targets of tags, which git then looks up. */
export function formatPackedRefs({ ids }: Refs): string {
  const names = [...ids.keys()].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `# pack-refs with: sorted \n${names.map((name) => `${ids.get(name)} ${name}\n`).join("")}`;
}

function requireId(id: string, name: string): string {
  if (ID.test(id)) return id;
  throw new Error(`its ref '${name.slice(0, 100)}' is not as git writes it`);
}

function read(folder: string, name: string, most: number): string | undefined {
  return readRegularFile(join(folder, name), { most, followsLinks: false })?.toString("utf8");
}

function filesIn(folder: string, name: string): string[] {
  return readdirSync(join(folder, name), { withFileTypes: true }).flatMap((entry) => {
    const path = `${name}/${entry.name}`;
    if (entry.isDirectory()) return filesIn(folder, path);
    if (entry.isFile()) return path.endsWith(".lock") ? [] : [path];
    throw new Error(`'${path}' in it is neither a file nor a folder`);
  });
}

/** Namespaces whose refs commands may change. */
const TAKEN = /^refs\/(?:heads|tags|remotes|notes|original)\/./;
/** Names that git-check-ref-format(1) forbids, and names that git or a person could misread. */
const ODD =
  /[\0- \x7f~^:?*[\\]|\.\.|@\{|\/\/|\/\.|\.\/|\.lock(?:\/|$)|[./]$|\/-|\/HEAD$|\/[0-9a-f]{40}$/;

/** Why a ref is not taken over; undefined if it is. */
export function refProblem(name: string): string | undefined {
  if (!TAKEN.test(name)) return "commands do not change refs of this kind";
  return ODD.test(name) || name.length > 1_000 ? "its name is odd" : undefined;
}
