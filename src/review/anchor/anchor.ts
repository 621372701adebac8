import { existsSync, lstatSync, readlinkSync } from "node:fs";
import { join } from "node:path";

import { fileWords, TrunklineError } from "../../base/errors.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { counted } from "../../base/text/counted.ts";
import { Git } from "../../git/git.ts";
import type { Side } from "../../store/review/review-thread.ts";
import type { Anchor } from "../../store/schema.gen.ts";
import { blobId, FileText, isBinary } from "./file-text.ts";
import { CONTEXT } from "./line-position.ts";
import { type FoundRepository, headCommit } from "../repository.ts";

/**
 * Bytes. The text of a larger file is not stored: its comments are found by the quoted lines only.
 */
const LARGEST_TEXT = 4 * 1024 * 1024;
/** Bytes. A larger file is not read. */
const LARGEST_FILE = 256 * 1024 * 1024;

export interface AnchorRequest {
  readonly repository: FoundRepository;
  /** From the root. */
  readonly path: string;
  readonly line?: number | undefined;
  readonly end?: number | undefined;
  readonly side?: Side | undefined;
  /** The commit of the old side; by default the one that is checked out. */
  readonly base?: string | undefined;
  /** The text of the file in an editor, which is not saved. */
  readonly unsaved?: Uint8Array | undefined;
}

export interface MadeAnchor {
  readonly anchor: Anchor;
  /** The text of the file, to be stored. */
  readonly content?: Uint8Array;
}

/** Records commented lines so that they can be found again. Each version of a file is read once. */
export class AnchorMaker {
  readonly #versions = new Map<string, ReturnType<typeof readVersion>>();

  /** Throws if the lines do not exist. */
  async make(request: AnchorRequest): Promise<MadeAnchor> {
    const { repository, path, line, end = line, side = "new" } = request;
    checkLines(path, line, end);
    const isOld = side === "old" || repository.isBare;
    const base = isOld ? (request.base ?? "HEAD") : undefined;
    const { commit, content, blob, text } = await this.#versionOf(request, base);
    const position = { path, side, ...(commit === undefined ? {} : { commit }) };
    if (content === undefined || text === undefined || blob === undefined) {
      if (line === undefined && (await isSomething(repository, path, commit)))
        return { anchor: position };
      throw noSuchFile(path, line, isOld);
    }
    const kept = { ...position, blob };
    const withText = content.length <= LARGEST_TEXT ? { content } : {};
    if (line === undefined || end === undefined) return { anchor: kept, ...withText };
    if (isBinary(content)) {
      const what = `Cannot comment on line ${line} of '${path}': it is binary`;
      throw new TrunklineError("usage", `${what}. Leave out --line to comment on the whole file.`);
    }
    const { lines } = text;
    if (end > lines.length) {
      const what = `Cannot comment on line ${end} of '${path}'`;
      throw new TrunklineError("usage", `${what}: it has ${counted(lines.length, "line")}.`);
    }
    const anchor = {
      ...kept,
      line,
      end,
      quote: lines.slice(line - 1, end),
      before: lines.slice(Math.max(0, line - 1 - CONTEXT), line - 1),
      after: lines.slice(end, end + CONTEXT),
    };
    return { anchor, ...withText };
  }

  /** Of a commit, or of the work tree if none is given. */
  #versionOf(request: AnchorRequest, base?: string): ReturnType<typeof readVersion> {
    const key = [request.repository.root, request.path, base].join("\0");
    return this.#versions.getOrInsertComputed(key, () => readVersion(request, base));
  }
}

/** A version of a file that is commented on, and the commit that has it, or that is checked out. */
async function readVersion({ repository, path, unsaved }: AnchorRequest, base?: string) {
  const { root } = repository;
  const commit = base === undefined ? headCommit(repository) : await commitId(root, base);
  const content =
    base === undefined || commit === undefined
      ? (unsaved ?? worktreeContent(repository, path))
      : await fileInCommit(root, commit, path);
  const blob = content && blobId(content);
  return { commit, content, blob, text: content && new FileText(content) };
}

/**
 * Whether the path is a folder, or was deleted since the commit: both can have a comment without
 * lines.
 */
async function isSomething(
  { root, isBare }: FoundRepository,
  path: string,
  commit: string | undefined,
): Promise<boolean> {
  if (!isBare && existsSync(join(root, path))) return true;
  if (commit === undefined) return false;
  return isInCommit(root, commit, path);
}

function noSuchFile(path: string, line: number | undefined, isOld: boolean): TrunklineError {
  const what = line === undefined ? `'${path}'` : `line ${line} of '${path}'`;
  const whenWritten =
    line === undefined ? "Check the path" : "Comment on a line it had with --side old";
  const next = isOld ? "Check the path and --base" : whenWritten;
  const says = `Cannot comment on ${what}: there is no such file. ${next}.`;
  return new TrunklineError("not-found", says);
}

function checkLines(path: string, line: number | undefined, end: number | undefined): void {
  const isLine = (value: number | undefined): boolean =>
    value === undefined || (Number.isSafeInteger(value) && value >= 1);
  if (isLine(line) && isLine(end) && (line ?? 1) <= (end ?? line ?? 1)) {
    if (line !== undefined || end === undefined) return;
  }
  const what = `Cannot comment on lines ${line ?? "?"} to ${end ?? "?"} of '${path}'`;
  const says = `${what}: lines count from 1, and the last is not before the first.`;
  throw new TrunklineError("usage", says);
}

/** The current content of a file of the work tree; for a symbolic link, its target. */
export function worktreeContent(
  { root }: { readonly root: string },
  path: string,
): Uint8Array | undefined {
  // Not by `join`, which looks at every character: a list may read hundreds.
  const file = `${root}/${path}`;
  try {
    return regularOrLink(root, file);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ENOTDIR"].includes(code)) return undefined;
    const says = `Cannot read '${file}': ${fileWords(error, file)}`;
    throw new TrunklineError("unavailable", says, { cause: error });
  }
}

/** Asks what it is only if it is no regular file, because a list may read hundreds. */
function regularOrLink(root: string, file: string): Uint8Array | undefined {
  try {
    return readRegularFile(file, { most: LARGEST_FILE, followsLinks: false, inside: [root] });
  } catch (error) {
    const stat = lstatSync(file);
    if (stat.isSymbolicLink()) return Buffer.from(readlinkSync(file));
    if (!stat.isFile()) return undefined;
    throw error;
  }
}

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

/** Whether a commit contains a file or folder; without a path, whether the commit is there. */
export async function isInCommit(root: string, commit: string, path = ""): Promise<boolean> {
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
