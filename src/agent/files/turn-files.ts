import { lstatSync, readlinkSync } from "node:fs";
import { chmod, lstat, mkdir, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";

import { attempt } from "../../base/attempt.ts";
import { diskWords, fileWords, TrunklineError } from "../../base/errors.ts";
import { ChangedFileError, type ExpectedContent, writeOver } from "../../base/file/overwrite.ts";
import { isFolder } from "../../base/file/path.ts";
import {
  readRegularFile,
  regularFile,
  type RegularFile,
  UnfitFileError,
} from "../../base/file/read-regular-file.ts";
import { isGitOwned } from "../../git/git-folder.ts";
import { Git, isFiltered } from "../../git/git.ts";
import { ACP } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { TurnClient } from "../../session/agent.ts";
import { SessionError } from "../../session/session-error.ts";
import { type TurnFileChange, digestOf, type TurnJournal } from "./journal.ts";
import { changedSince, SeenFiles } from "./seen-files.ts";
import type { Workspace, WorkspacePath } from "./workspace.ts";

/** ACP message specification § Message Size Limits: `fs/*`. */
export const LARGEST_FILE = 10 * 1024 * 1024;

interface TurnFilesOptions
  extends Pick<TurnFiles, "workspace" | "journal">, Partial<Pick<TurnFiles, "seen">> {
  /** The attached clients, which may change during a turn. */
  readonly client: () => TurnClient;
}

/**
 * The files of the workspace in one turn: through the editor where it offers that, since its unsaved
 * text counts, else on disk.
 */
export class TurnFiles {
  readonly workspace: Workspace;
  readonly journal: TurnJournal;
  /** What the model knows of files. */
  readonly seen: SeenFiles;
  readonly #client: () => TurnClient;

  constructor(options: TurnFilesOptions) {
    this.seen = options.seen ?? new SeenFiles();
    this.workspace = options.workspace;
    this.journal = options.journal;
    this.#client = options.client;
  }

  /** The same files, for a conversation of its own. */
  forSubagent(): TurnFiles {
    const { workspace, journal } = this;
    return new TurnFiles({ workspace, journal, client: this.#client });
  }

  /** The text of a file. Throws with the codes of ACP message specification § ACP-Specific Errors. */
  async read(target: WorkspacePath): Promise<string> {
    const text = await this.readIfThere(target);
    if (text !== undefined) return text;
    throw RpcError.of(ACP.fileNotFound, `there is no file '${target.name}'`, { path: target.path });
  }

  async readIfThere(target: WorkspacePath): Promise<string | undefined> {
    return (await this.#fromEditor(target)) ?? (await this.readFromDisk(target));
  }

  /** The mode on disk; undefined where there is no file. */
  modeOf({ real }: WorkspacePath): number | undefined {
    return lstatSync(real, { throwIfNoEntry: false })?.mode;
  }

  /** What is on disk; undefined where there is no file. */
  bytes(target: WorkspacePath): Buffer | undefined {
    if (isFolder(target.real)) {
      const says = `'${target.name}' is a folder; list_files shows what is in it`;
      throw RpcError.of(ACP.fileNotFound, says, { path: target.path });
    }
    try {
      return readRegularFile(target.real, { most: LARGEST_FILE, inside: this.workspace.roots });
    } catch (error) {
      const { size } = error instanceof UnfitFileError ? error : {};
      throw size === undefined ? unreadable(target, error) : tooLarge(target, size);
    }
  }

  /** The text on disk, without asking the editor for unsaved changes. */
  async readFromDisk(target: WorkspacePath): Promise<string | undefined> {
    const bytes = this.bytes(target);
    return bytes === undefined ? undefined : textOf(bytes, target);
  }

  /**
   * The text that a model is about to change; undefined where there is no file. Throws if it is not the
   * one that the model knows.
   */
  async readToChange(target: WorkspacePath, extent: "part" | "whole"): Promise<string | undefined> {
    const text = await this.readIfThere(target);
    if (text !== undefined) this.seen.check(target, text, extent);
    return text;
  }

  /**
   * Writes a text after recording the old one. Throws if the file changed since `old` was read. A new
   * file gets `mode`, that of the one that it takes the place of.
   */
  async write(
    target: WorkspacePath,
    text: string,
    old: string | undefined,
    mode?: number,
  ): Promise<void> {
    const content = Buffer.from(text);
    if (content.length > LARGEST_FILE) throw tooLarge(target, content.length);
    await this.#changing(target, old, async () => {
      const made = await this.#put(target, content, text, old);
      // An editor may not have saved it yet.
      if (mode !== undefined) await chmod(target.real, mode & 0o777).catch(() => {});
      // An editor may format the file when it saves it.
      await this.journal.after(target.path, [content, this.bytes(target)], made);
    });
  }

  /** Removes a file after recording its text. Throws if it changed since `old` was read. */
  async remove(target: WorkspacePath, old: string): Promise<void> {
    if (await isLink(target.path)) {
      const says = `'${target.name}' is a link. Delete the file that it leads to, '${target.real}'`;
      throw new TrunklineError("usage", says);
    }
    await this.#changing(target, old, async () => {
      const now = await this.readIfThere(target);
      if (now !== old) throw changedSince(target.name, old, now);
      await rm(target.real);
      await this.journal.after(target.path, [undefined]);
    });
  }

  /** Records the text of a file before it is changed. Forgets it if somebody else was faster. */
  async #changing(
    target: WorkspacePath,
    old: string | undefined,
    change: () => Promise<void>,
  ): Promise<void> {
    const status = await lstat(target.real).catch(() => undefined);
    // The editor's text where there is one, so that undo restores unsaved changes.
    const before = old === undefined ? undefined : Buffer.from(old);
    const facts = { mode: status?.mode, isLink: await isLink(target.path) };
    const isFirst = await this.journal.before(target.path, before, facts);
    try {
      await change();
    } catch (error) {
      if (error instanceof TrunklineError && error.code === "conflict" && isFirst) {
        await this.journal.notChanged(target.path);
      }
      throw error;
    }
  }

  /** Whether a file is as a turn left it, in the editor and on disk, and still is a file. */
  async isAsLeft({ path, after = [], isLink: wasLink }: TurnFileChange): Promise<boolean> {
    const other = wasLink ? undefined : standIn(path);
    if (other !== undefined) return after.includes(digestOf(other));
    const target = await this.workspace.findToWrite(path);
    if ((await isLink(path)) !== wasLink || isUnfit(target.real)) return false;
    const buffered = await this.#fromEditor(target);
    const forms = [this.bytes(target), ...(buffered === undefined ? [] : [Buffer.from(buffered)])];
    return forms.every((form) => after.includes(digestOf(form)));
  }

  /**
   * Restores a file to its content before a turn, and records what it was. A link in its place is removed,
   * not followed. Returns whether it is recorded: what is no file, or too large, is not.
   */
  async restore(change: TurnFileChange, record: TurnJournal): Promise<boolean> {
    const { path, before, mode, made, isLink: wasLink, after = [] } = change;
    const isOther = !wasLink && standIn(path) !== undefined;
    // Nothing is removed where a link above it leads out of the workspace.
    await this.workspace.findToWrite(dirname(path));
    if (!wasLink && (await isLink(path))) await rm(path);
    // A folder that the turn has made, if it is empty now.
    if (after.includes(digestOf(FOLDER))) await rmdir(path).catch(() => {});
    const target = await this.workspace.findToWrite(path);
    if (isUnfit(target.real)) {
      const says = `something that is no file has taken the place of '${target.name}'`;
      throw new TrunklineError("conflict", says);
    }
    const isRecorded = !isOther && (await this.#recordNow(target, wasLink, record));
    if (before === undefined) await this.#remove(target, made);
    else await this.#giveBack(target, before, mode);
    if (isRecorded) await record.after(path, [before, this.bytes(target)], made);
    return isRecorded;
  }

  async #recordNow(target: WorkspacePath, wasLink: boolean, record: TurnJournal): Promise<boolean> {
    let now: Buffer | undefined;
    try {
      const buffered = await this.#fromEditor(target);
      now = buffered === undefined ? this.bytes(target) : Buffer.from(buffered);
    } catch {
      return false;
    }
    await record.before(target.path, now, { mode: this.modeOf(target), isLink: wasLink });
    return true;
  }

  async #fromEditor(target: WorkspacePath): Promise<string | undefined> {
    const { fs } = this.#client();
    if (fs?.readTextFile === undefined) return undefined;
    // Editors show an error for each file that they are asked for and do not have. The workspace of an
    // editor on another machine may not be on this disk, so there only the editor knows.
    if ((await isMissing(target.real)) && !(await isMissing(this.workspace.cwd))) return undefined;
    try {
      return await fs.readTextFile(target.path);
    } catch (error) {
      // An editor that does not know the file has no unsaved text of it.
      if (hasNoFile(error) || (await isMissing(target.real))) return undefined;
      const { message } = error as Error;
      const why = `the editor did not say what it holds (${message}), and it may not be saved`;
      const says = `Cannot read '${target.name}': ${why}. Try again, or ask the person.`;
      throw new TrunklineError("unavailable", says, { cause: error });
    }
  }

  async #giveBack(target: WorkspacePath, content: Buffer, mode: number | undefined): Promise<void> {
    const { fs } = this.#client();
    const text = asText(content);
    const isThere = (await lstat(target.real).catch(() => undefined)) !== undefined;
    const write = text === undefined ? undefined : fs?.writeTextFile;
    // A deleted file is created here, with its mode: the editor would lose the executable bit.
    if (!isThere || write === undefined) {
      await this.#makeFolder(target);
      await this.#putOnDisk(target, content);
    }
    if (mode !== undefined) await chmod(target.real, mode & 0o777);
    if (text !== undefined) await write?.(target.path, text);
  }

  /** Returns the topmost folder that was created. */
  async #put(
    target: WorkspacePath,
    content: Buffer,
    text: string,
    old: string | undefined,
  ): Promise<string | undefined> {
    const made = await this.#makeFolder(target);
    const { fs } = this.#client();
    if (fs?.readTextFile === undefined) {
      // Also if the editor could write: it would lose unsaved text that it does not tell us.
      const expected = { content: old === undefined ? undefined : Buffer.from(old) };
      await this.#putOnDisk(target, content, expected);
      return made;
    }
    // ACP has no write that depends on what is there, so it is looked at directly before.
    const now = await this.readIfThere(target);
    if (now !== old) throw changedSince(target.name, old, now);
    if (fs.writeTextFile === undefined) await this.#putOnDisk(target, content);
    else await fs.writeTextFile(target.path, text);
    return made;
  }

  /** Makes the folder of a file. Returns the topmost one that was created. */
  async #makeFolder(target: WorkspacePath): Promise<string | undefined> {
    try {
      return await mkdir(dirname(target.real), { recursive: true });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "EEXIST" && code !== "ENOTDIR") throw error;
      const says = `Cannot write '${target.name}': something that is no folder is above it`;
      throw new TrunklineError("conflict", says, { cause: error });
    }
  }

  async #putOnDisk(
    target: WorkspacePath,
    content: Buffer,
    expected?: ExpectedContent,
  ): Promise<void> {
    try {
      writeOver(target.real, content, this.workspace.roots, expected);
    } catch (error) {
      if (error instanceof ChangedFileError) {
        const now = await this.readIfThere(target);
        throw changedSince(target.name, expected?.content?.toString("utf8"), now);
      }
      if (error instanceof UnfitFileError) throw unreadable(target, error);
      if (diskWords(error) === undefined) throw error;
      const says = `Cannot write '${target.name}': ${fileWords(error, target.real)}`;
      throw new TrunklineError("unavailable", says, { cause: error });
    }
  }

  async #remove(target: WorkspacePath, made: string | undefined): Promise<void> {
    await rm(target.real, { force: true });
    if (made === undefined) return;
    for (let folder = dirname(target.real); folder.startsWith(made); folder = dirname(folder)) {
      try {
        await rmdir(folder);
      } catch {
        return;
      }
    }
  }
}

async function isLink(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isSymbolicLink() === true;
}

/** Whether something that is no file is there: a folder, a pipe or a device. */
function isUnfit(real: string): boolean {
  const status = lstatSync(real, { throwIfNoEntry: false });
  return status !== undefined && !status.isFile() && !status.isSymbolicLink();
}

function hasNoFile(error: unknown): boolean {
  if (error instanceof SessionError) return error.problem === "file-not-found";
  return error instanceof RpcError && error.code === ACP.resourceNotFound.code;
}

async function isMissing(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

/** Decodes UTF-8. Throws for bytes that would not survive decoding and encoding. */
function textOf(bytes: Buffer, target: WorkspacePath): string {
  const text = asText(bytes);
  if (text !== undefined && !text.includes("\0")) return text;
  throw new TrunklineError("usage", `'${target.name}' is not a text in UTF-8; leave it as it is`);
}

function asText(bytes: Buffer): string | undefined {
  return attempt(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
}

function tooLarge(target: WorkspacePath, size: number): RpcError {
  const says = `'${target.name}' has ${size} bytes; at most ${LARGEST_FILE} are handled`;
  return RpcError.of(ACP.fileTooLarge, says, { path: target.path, size, limit: LARGEST_FILE });
}

function unreadable(target: WorkspacePath, error: unknown): RpcError {
  const says = `'${target.name}' cannot be read: ${fileWords(error, target.real)}`;
  return RpcError.of(ACP.permissionDenied, says, { path: target.path });
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

async function record(
  files: TurnFiles,
  before: NonNullable<Awaited<ReturnType<typeof snapshot>>>,
): Promise<void> {
  const after = await snapshot(files);
  if (after === undefined || after.head !== before.head) return;
  const git = new Git(before.root);
  // A folder comes before what is in it: changes are undone from the last one on.
  for (const name of new Set([...after.others, ...before.dirty.keys(), ...after.dirty.keys()])) {
    if (before.others.has(name)) continue;
    // The content before a filter cannot be derived from the stored one.
    if (!before.dirty.has(name) && (await isFiltered(git, name))) continue;
    const old = before.dirty.has(name)
      ? before.dirty.get(name)
      : await committed(before.root, before.head, name);
    if (old === "other") continue;
    const path = join(before.root, name);
    const other = standIn(path);
    if (after.others.has(name) && (other === undefined || old === undefined)) continue;
    const now = after.dirty.has(name)
      ? after.dirty.get(name)
      : attempt(() => stateOf(before.root, name));
    if (other === undefined && isSame(old, now)) continue;
    // Of the file itself, wherever a link in its place leads.
    const folder = await files.workspace.findToWrite(dirname(path)).catch(() => undefined);
    if (folder === undefined || isGitOwned(path)) continue;
    const made = [...after.others].find((each) => name.startsWith(`${each}/`));
    await files.journal.before(path, old?.content, { mode: old?.mode });
    const first = made === undefined ? undefined : join(before.root, made);
    await files.journal.after(path, [other ?? now?.content], first);
    // A person may have saved the file while the command ran.
    await files.journal.shared(path);
  }
}

/** A link or a folder that stands in the place of a file, as the journal has it. */
function standIn(path: string): Buffer | undefined {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status?.isSymbolicLink() === true) return Buffer.from(`link to ${readlinkSync(path)}`);
  return status?.isDirectory() === true ? FOLDER : undefined;
}

const FOLDER = Buffer.from("a folder");

function isSame(one: RegularFile | undefined, other: RegularFile | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  // Git stores only the executable bit of a mode.
  return one.content.equals(other.content) && ((one.mode ^ other.mode) & 0o100) === 0;
}

/** Undefined where there is no file; throws where it is none that can be kept. */
function stateOf(root: string, name: string): RegularFile | undefined {
  return regularFile(join(root, name), { most: MOST_BYTES, followsLinks: false, inside: [root] });
}

/** Undefined outside a repository, or if more has changed than can be kept. */
async function snapshot(files: TurnFiles) {
  const git = new Git(files.workspace.cwd);
  const [root, head] = (await git.text(["rev-parse", "--show-toplevel", "HEAD"])).split("\n");
  if (root === undefined || head === undefined) return undefined;
  const args = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"];
  const names = (await git.list(args)).map((record) => record.slice(3));
  if (names.length > MOST_FILES) return undefined;
  /** Contents of the files that differ from HEAD; undefined for a deleted file. */
  const dirty = new Map<string, RegularFile | undefined>();
  /** Those in whose place something else stands, such as a link or a folder. */
  const others = new Set<string>();
  let size = 0;
  for (const name of names) {
    let found: RegularFile | undefined;
    try {
      found = stateOf(root, name);
    } catch (error) {
      if (!(error instanceof UnfitFileError) || error.size !== undefined) return undefined;
      others.add(name);
      continue;
    }
    if ((size += found?.content.length ?? 0) > MOST_BYTES) return undefined;
    dirty.set(name, found);
  }
  return { root, head, dirty, others };
}

async function committed(
  root: string,
  head: string,
  name: string,
): Promise<RegularFile | "other" | undefined> {
  const args = ["cat-file", "--filters", `${head}:${name}`];
  const { code, stdout } = await new Git(root).run(args, { accepts: [0, 128] });
  if (code !== 0) return undefined;
  const listed = await new Git(root).text(["ls-tree", head, "--", `:(literal)${name}`]);
  if (!listed.startsWith("100")) return "other";
  return { content: stdout, mode: listed.startsWith("100755 ") ? 0o755 : 0o644 };
}
