import { existsSync, lstatSync, readlinkSync } from "node:fs";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";
import type { Anchor, Side } from "../../store/review/review-thread.ts";
import { blobId, isBinary, linesOf, textOf } from "./file-lines.ts";
import { CONTEXT } from "./line-position.ts";
import { type FoundRepository, headCommit } from "../repository.ts";

/** The text of a larger file is not kept: its comments are found by their words alone. */
const LARGEST_TEXT = 4 * 1024 * 1024;
/** A larger one is not read at all. */
const LARGEST_FILE = 256 * 1024 * 1024;

export interface AnchorRequest {
  readonly repository: FoundRepository;
  /** From the root. */
  readonly path: string;
  readonly line?: number | undefined;
  readonly end?: number | undefined;
  readonly side?: Side | undefined;
  /** Commit of the old side; the one that is checked out when left out. */
  readonly base?: string | undefined;
}

export interface MadeAnchor {
  readonly anchor: Anchor;
  /** The text it was made in, to be kept. */
  readonly content?: Uint8Array;
}

/** Takes down a place in a file so that it can be found again. Throws where there is no such place. */
export async function makeAnchor(request: AnchorRequest): Promise<MadeAnchor> {
  const { repository, path, line, end = line, side = "new" } = request;
  checkLines(path, line, end);
  const isOld = side === "old" || repository.isBare;
  const { commit: head, content } = isOld
    ? await asCommitted(repository.root, request.base ?? "HEAD", path)
    : { commit: headCommit(repository), content: written(repository, path) };
  const position = { path, side, ...(head === undefined ? {} : { commit: head }) };
  if (content === undefined) {
    if (line === undefined && (await isSomething(repository, path, head)))
      return { anchor: position };
    throw noSuchFile(path, line, isOld);
  }
  const isKept = content.length <= LARGEST_TEXT;
  const kept = { ...position, blob: blobId(content) };
  const withText = isKept ? { content } : {};
  if (line === undefined || end === undefined) return { anchor: kept, ...withText };
  if (isBinary(content)) {
    const what = `Cannot comment on line ${line} of '${path}': it is binary`;
    throw new TrunklineError("usage", `${what}. Leave out --line to comment on the whole file.`);
  }
  const lines = linesOf(textOf(content));
  if (end > lines.length) {
    const what = `Cannot comment on line ${end} of '${path}'`;
    throw new TrunklineError("usage", `${what}: it has ${lines.length} lines.`);
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

async function asCommitted(
  root: string,
  base: string,
  path: string,
): Promise<{ commit: string; content: Uint8Array | undefined }> {
  // Most comments are on what is there, and need no git.
  const { commitId, fileInCommit } = await import("./commit-file.ts");
  const commit = await commitId(root, base);
  return { commit, content: await fileInCommit(root, commit, path) };
}

/** A folder, or what has been deleted since the commit: both can be spoken of as a whole. */
async function isSomething(
  { root, isBare }: FoundRepository,
  path: string,
  commit: string | undefined,
): Promise<boolean> {
  if (!isBare && existsSync(join(root, path))) return true;
  if (commit === undefined) return false;
  return (await import("./commit-file.ts")).isInCommit(root, commit, path);
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
  throw new TrunklineError(
    "usage",
    `${what}: lines count from 1, and the last is not before the first.`,
  );
}

/** A file of the worktree as it is now; of a link, where it leads. */
export function written({ root }: { readonly root: string }, path: string): Uint8Array | undefined {
  const file = join(root, path);
  try {
    const stat = lstatSync(file);
    if (stat.isSymbolicLink()) return Buffer.from(readlinkSync(file));
    return stat.isFile()
      ? readRegularFile(file, { most: LARGEST_FILE, followsLinks: false })
      : undefined;
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ENOTDIR"].includes(code)) return undefined;
    throw new TrunklineError("unavailable", `Cannot read '${file}': ${message}`, { cause: error });
  }
}

/** The same; one that cannot be read is none, so that it stands in nobody else's way. */
export function readable(root: string, path: string): Uint8Array | undefined {
  try {
    return written({ root }, path);
  } catch {
    return undefined;
  }
}
