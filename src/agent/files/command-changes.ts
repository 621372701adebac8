import { join } from "node:path";

import {
  type RegularFile,
  regularFile,
  UnfitFileError,
} from "../../base/file/read-regular-file.ts";
import { Git, isFiltered } from "../../git/git.ts";
import type { TurnFiles } from "./turn-files.ts";

/** Contents of the files that differ from HEAD; undefined for a deleted file. */
interface Snapshot {
  readonly root: string;
  readonly head: string;
  readonly dirty: ReadonlyMap<string, RegularFile | undefined>;
}

const MOST_FILES = 2_000;
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * Runs a command and records how it changes the files of the repository, for `/undo`. Ignored files,
 * files with a git filter (LFS, encryption) and commands that change HEAD are not recorded.
 */
export async function recordingChanges<T>(files: TurnFiles, run: () => Promise<T>): Promise<T> {
  const before = await snapshot(files).catch(() => undefined);
  try {
    return await run();
  } finally {
    // Also after a command that failed or was cancelled.
    if (before !== undefined) await record(files, before).catch(() => {});
  }
}

async function record(files: TurnFiles, before: Snapshot): Promise<void> {
  const after = await snapshot(files);
  if (after === undefined || after.head !== before.head) return;
  const git = new Git(before.root);
  for (const name of new Set([...before.dirty.keys(), ...after.dirty.keys()])) {
    // The content before a filter cannot be derived from the stored one.
    if (!before.dirty.has(name) && (await isFiltered(git, name))) continue;
    const old = before.dirty.has(name)
      ? before.dirty.get(name)
      : await committed(before.root, before.head, name);
    const now = after.dirty.has(name) ? after.dirty.get(name) : ifReadable(before.root, name);
    if (isSame(old, now)) continue;
    const target = await files.workspace
      .findToWrite(join(before.root, name))
      .catch(() => undefined);
    if (target === undefined) continue;
    await files.journal.before(target.path, old?.content, old?.mode);
    await files.journal.after(target.path, [now?.content]);
    // A person may have saved the file while the command ran.
    await files.journal.shared(target.path);
  }
}

function isSame(one: RegularFile | undefined, other: RegularFile | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  // Git stores only the executable bit of a mode.
  return one.content.equals(other.content) && ((one.mode ^ other.mode) & 0o100) === 0;
}

/** Undefined where there is no file; throws where it is none that can be kept. */
function stateOf(root: string, name: string): RegularFile | undefined {
  return regularFile(join(root, name), { most: MOST_BYTES, followsLinks: false, inside: [root] });
}

function ifReadable(root: string, name: string): RegularFile | undefined {
  try {
    return stateOf(root, name);
  } catch {
    return undefined;
  }
}

/** Undefined outside a repository, or if more has changed than can be kept. */
async function snapshot(files: TurnFiles): Promise<Snapshot | undefined> {
  const git = new Git(files.workspace.cwd);
  const [root, head] = (await git.text(["rev-parse", "--show-toplevel", "HEAD"])).split("\n");
  if (root === undefined || head === undefined) return undefined;
  const args = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"];
  const { stdout } = await git.run(args);
  const names = stdout
    .toString("utf8")
    .split("\0")
    .filter((record) => record !== "")
    .map((record) => record.slice(3));
  if (names.length > MOST_FILES) return undefined;
  const dirty = new Map<string, RegularFile | undefined>();
  let size = 0;
  for (const name of names) {
    let found: RegularFile | undefined;
    try {
      found = stateOf(root, name);
    } catch (error) {
      if (error instanceof UnfitFileError && error.size === undefined) continue;
      return undefined;
    }
    if ((size += found?.content.length ?? 0) > MOST_BYTES) return undefined;
    dirty.set(name, found);
  }
  return { root, head, dirty };
}

async function committed(
  root: string,
  head: string,
  name: string,
): Promise<RegularFile | undefined> {
  const args = ["cat-file", "--filters", `${head}:${name}`];
  const { code, stdout } = await new Git(root).run(args, { accepts: [0, 128] });
  if (code !== 0) return undefined;
  const listed = await new Git(root).text(["ls-tree", head, "--", `:(literal)${name}`]);
  return { content: stdout, mode: listed.startsWith("100755 ") ? 0o755 : 0o644 };
}
