import { attempt } from "../../../base/attempt.ts";
import { lstatSync, readlinkSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";

import { Journal } from "../../../agent/files/journal.ts";
import { numberIn } from "../../../base/capability/api-route.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { readRegularFile } from "../../../base/file/read-regular-file.ts";
import { mayUseFolder, type Principal } from "../../../base/principal.ts";
import { maskText } from "../../../base/text/mask.ts";
import { unifiedDiff } from "../../../base/text/unified-diff.ts";
import { Git } from "../../../git/git.ts";
import { findRepository } from "../../../review/repository.ts";
import { workingFolder, workplaceOf } from "../../../session/workplace.ts";
import type { ReadSession } from "../../../store/session/session-reader.ts";
import type {
  ChangedFile,
  ChangedFiles,
  FileDiff,
  LineWhy,
  UndoneTurn,
  UndoPreview,
} from "../session-api.ts";
import { lineWhy } from "./line-why.ts";

/** Characters of a diff that is shown, and bytes of a file that is read for one. */
const LARGEST_DIFF = 1024 * 1024;
const MOST_FILES = 2_000;

/** A file outside of git: what it was before the session. */
interface FormerFile {
  readonly path: string;
  readonly before: Buffer | undefined;
}

/**
 * What a session has changed. In a repository that is its work tree against the commit that was
 * checked out when the session began, with files that git does not know yet; elsewhere what the
 * built-in agent has recorded for `/undo`.
 */
export async function changedFiles(
  data: string,
  session: ReadSession,
  principal: Principal,
): Promise<ChangedFiles> {
  const repository = findRepository(workingFolder(session));
  if (repository !== undefined && !repository.isBare) {
    const git = new Git(repository.root);
    const base = await baseOf(git, session);
    const all = [...(await tracked(git, base)), ...(await untracked(git))];
    // A token may be limited to one folder of the repository, whichever work tree the session has.
    const root = findRepository(session.cwd)?.root ?? repository.root;
    const files = all.filter(({ path }) => mayUseFolder(principal, join(root, path)));
    const says =
      files.length > MOST_FILES ? `Only the first ${MOST_FILES} of ${files.length}.` : undefined;
    return {
      against: "git",
      base: base.slice(0, 12),
      files: files.slice(0, MOST_FILES),
      ...(says === undefined ? {} : { says }),
    };
  }
  const recorded = await recordedIn(data, session.id, principal);
  if (recorded.length === 0) {
    const says = "The folder is not in a git repository, and the agent has recorded no changes.";
    return { against: "none", files: [], says };
  }
  const files = recorded.map((each) => recordedFile(session.cwd, each));
  return { against: "journal", files: files.filter((file) => file !== undefined) };
}

/** The diff of one of the files that a session has changed. */
export async function diffOfFile(
  data: string,
  session: ReadSession,
  path: string,
  principal: Principal,
): Promise<FileDiff> {
  const { against, file } = await fileOf(data, session, path, principal);
  if (against === "git") return shown(path, await gitDiff(session, file));
  const recorded = await recordedIn(data, session.id, principal);
  const known = recorded.find((each) => shownPath(session.cwd, each.path) === path);
  const now = textAt(session.cwd, known?.path ?? "");
  return shown(path, unifiedDiff(path, known?.before?.toString("utf8"), now));
}

/** Who wrote a line of one of them: as it is now, or as it was when the session began. */
export async function whyOfChange(
  data: string,
  session: ReadSession,
  query: URLSearchParams,
  principal: Principal,
): Promise<LineWhy> {
  const { file } = await fileOf(data, session, query.get("file") ?? "", principal);
  const line = numberIn(query, "line", { least: 1, usual: 1 });
  const commit = query.get("side") === "old" ? await baseOfSession(session) : undefined;
  return lineWhy(workingFolder(session), { data, path: file.path, line, commit, principal });
}

/** Only files of the list are shown: a path could name any other file. */
async function fileOf(data: string, session: ReadSession, path: string, principal: Principal) {
  const { against, files } = await changedFiles(data, session, principal);
  const file = files.find((each) => each.path === path);
  if (file !== undefined) return { against, file };
  throw new TrunklineError("not-found", `The session has not changed '${path.slice(0, 200)}'.`);
}

/** What `/undo` and `/redo` would restore. */
export async function undoPreview(
  data: string,
  { id, cwd }: ReadSession,
  principal: Principal,
): Promise<UndoPreview> {
  const journal = new Journal(data, id);
  const turn = async (of: Journal): Promise<UndoneTurn | undefined> => {
    const last = await of.last();
    if (last === undefined) return undefined;
    const paths = last.changes.map(({ path }) => path);
    return {
      files: paths
        .filter((path) => mayUseFolder(principal, path))
        .map((path) => shownPath(cwd, path)),
      commands: last.commands.map(maskText),
    };
  };
  const [undo, redo] = await Promise.all([turn(journal), turn(journal.undone())]);
  return { ...(undo && { undo }), ...(redo && { redo }) };
}

/** The commit against which the changes of a session are shown. */
export async function baseOfSession(session: ReadSession): Promise<string | undefined> {
  const repository = findRepository(workingFolder(session));
  return repository === undefined ? undefined : baseOf(new Git(repository.root), session);
}

/** The commit that a session began with: by the reflog, and where that does not tell, what is there now. */
async function baseOf(git: Git, { created, notes }: ReadSession): Promise<string> {
  const place = workplaceOf(notes);
  if (place !== undefined) return place.base.revision;
  const when = new Date(created).toISOString();
  for (const name of [`HEAD@{${when}}`, "HEAD"]) {
    const { code, stdout } = await git.run(["rev-parse", "--verify", "--quiet", name], {
      accepts: [0, 1, 128],
    });
    const commit = stdout.toString("utf8").trim();
    if (code === 0 && commit !== "") return commit;
  }
  return EMPTY;
}

/** Git's empty tree, for a repository without a commit. */
const EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

const CHANGES: Readonly<Record<string, ChangedFile["change"]>> = { A: "added", D: "deleted" };

/** Reads git-diff(1) twice: the kind of each change, then its lines. */
async function tracked(git: Git, base: string): Promise<ChangedFile[]> {
  const changes = new Map<string, ChangedFile["change"]>();
  const args = ["diff", "-z", "--no-renames"];
  const parts = (await git.list([...args, "--raw", base, "--"])).values();
  for (const part of parts) {
    changes.set(parts.next().value ?? "", CHANGES[part.at(-1) ?? ""] ?? "modified");
  }
  // Git counts no lines at all where it meets a pipe or a socket in the place of a file.
  const special = [...changes.keys()].filter((path) => isSpecial(join(git.folder, path)));
  const others = special.map((path) => `:(exclude,literal)${path}`);
  const files = (await git.list([...args, "--numstat", base, "--", ...others])).map((part) => {
    const [added = "", removed = "", path = ""] = part.split("\t");
    const lines = { added: Number(added) || 0, removed: Number(removed) || 0 };
    const change = changes.get(path) ?? "modified";
    return { path, change, ...lines, ...(added === "-" ? { isBinary: true } : {}) };
  });
  const unread = { change: "modified", added: 0, removed: 0, isBinary: true } as const;
  return [...files, ...special.map((path) => ({ path, ...unread }))];
}

function isSpecial(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat !== undefined && !(stat.isFile() || stat.isSymbolicLink() || stat.isDirectory());
}

async function untracked(git: Git): Promise<ChangedFile[]> {
  const paths = await git.list(["ls-files", "--others", "--exclude-standard", "-z"]);
  const files: ChangedFile[] = [];
  for (const path of paths.slice(0, MOST_FILES)) {
    const text = textAt(git.folder, join(git.folder, path));
    // Thousands of them may be large.
    await nextTurn();
    const isBinary = text === undefined || text.includes("\0");
    const added = isBinary ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
    files.push({ path, change: "added", added, removed: 0, ...(isBinary ? { isBinary } : {}) });
  }
  return files;
}

async function gitDiff(session: ReadSession, { path, change }: ChangedFile): Promise<string> {
  const folder = workingFolder(session);
  const root = findRepository(folder)?.root ?? folder;
  if (isSpecial(join(root, path))) return "";
  const git = new Git(root);
  const base = await baseOf(git, session);
  const args = ["diff", "--no-renames", "--no-color", base, "--", `:(literal)${path}`];
  const diff = await git.text(args);
  if (diff !== "" || change !== "added") return diff;
  return unifiedDiff(path, undefined, textAt(root, join(root, path)));
}

/** The contents of files before the first turn that changed them. */
async function recordedIn(data: string, id: string, principal: Principal): Promise<FormerFile[]> {
  const first = new Map<string, FormerFile>();
  for (const { changes } of await new Journal(data, id).all()) {
    for (const { path, before } of changes) if (!first.has(path)) first.set(path, { path, before });
  }
  return [...first.values()].filter(({ path }) => mayUseFolder(principal, path));
}

function recordedFile(cwd: string, { path, before }: FormerFile): ChangedFile | undefined {
  const now = textAt(cwd, path);
  const old = before?.toString("utf8");
  if (now === old) return undefined;
  const diff = unifiedDiff(path, old, now).split("\n").slice(4);
  const change = old === undefined ? "added" : now === undefined ? "deleted" : "modified";
  const count = (mark: string): number => diff.filter((line) => line.startsWith(mark)).length;
  return { path: shownPath(cwd, path), change, added: count("+"), removed: count("-") };
}

/** Relative to the folder of the session where it is inside. */
function shownPath(cwd: string, path: string): string {
  const way = relative(cwd, path);
  return way.startsWith("..") || isAbsolute(way) ? path : way.split(sep).join("/");
}

/** The text of a file, for a link where it leads, as git has it; undefined where none can be shown. */
function textAt(root: string, path: string): string | undefined {
  return attempt(() => {
    if (lstatSync(path).isSymbolicLink()) return readlinkSync(path);
    return readRegularFile(path, { most: LARGEST_DIFF, inside: [root] })?.toString("utf8");
  });
}

/** Secrets are masked line by line, since masking cuts long texts. */
export function shown(path: string, diff: string): FileDiff {
  const isCut = diff.length > LARGEST_DIFF;
  const text = isCut ? diff.slice(0, diff.lastIndexOf("\n", LARGEST_DIFF) + 1) : diff;
  return { path, diff: text.split("\n").map(maskText).join("\n"), isCut };
}
