import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve, sep } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { type Repository, SEVERITIES, type Severity } from "../../store/review/review-thread.ts";
import { hasDotGit } from "../../base/file/repository-path.ts";
import type { Reviews } from "../../store/review/reviews.ts";
import type { NewThread } from "../../store/review/reviews-rows.ts";
import { AnchorMaker, type MadeAnchor } from "../anchor/anchor.ts";
import { isTime } from "../../store/review/thread-document.ts";
import { recognised } from "../moved.ts";
import { findRepository, type FoundRepository, placeOf } from "../repository.ts";

/** A comment as lazygit-mcp-bridge drops it. */
export interface Dropped {
  readonly file: string;
  readonly comment: string;
  readonly project_root?: string;
  readonly time?: string | number;
  /** Missing in the program's files, but shown in its document. */
  readonly line?: number;
  readonly severity?: Severity;
}

/**
 * Parses a drop file: one object, a list of objects, or one object per line. Undefined while it is
 * incomplete.
 */
export function readDropped(text: string): unknown[] | undefined {
  if (text.trim() === "") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as unknown[]) : [value];
  } catch {
    // Try one object per line.
  }
  try {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    return lines.length < 2 ? undefined : lines.map((line): unknown => JSON.parse(line));
  } catch {
    return undefined;
  }
}

export function isDropped(value: unknown): value is Dropped {
  const { file, comment } = (value ?? {}) as Partial<Record<keyof Dropped, unknown>>;
  return typeof file === "string" && file !== "" && typeof comment === "string" && comment !== "";
}

/** Whether a dropped comment is on one of git's own files, which nobody comments on. */
export function isOnGitFile(dropped: Dropped, folder: string): boolean {
  const project = projectOf(dropped, folder);
  return hasDotGit(plainPath(findRepository(project)?.root ?? project, dropped.file));
}

/**
 * Makes a thread of a dropped comment. If its lines do not exist, the comment is kept without them.
 */
export async function threadOfDropped(
  reviews: Reviews,
  dropped: Dropped,
  folder: string,
): Promise<NewThread> {
  const { file, comment, time, line, severity } = dropped;
  const project = projectOf(dropped, folder);
  const found = findRepository(project);
  const { anchor, content, repository = found } = await anchorOf(found, project, file, line);
  const isKnown = SEVERITIES.includes(severity as Severity);
  return {
    repository:
      repository === undefined ? plainFolder(project) : await recognised(reviews, repository),
    anchor,
    ...(content === undefined ? {} : { content }),
    comment,
    severity: isKnown ? (severity as Severity) : "should",
    by: "lazygit",
    source: "drop-file",
    at: timeOf(time),
    fingerprint: fingerprintOf(dropped),
  };
}

/**
 * Identifies a comment that is dropped twice (lazygit-mcp-bridge, "Multiple Message Support": file,
 * comment and time).
 */
export function fingerprintOf({ file, comment, time }: Dropped): string {
  return createHash("sha256")
    .update(`${file}|${comment}|${time ?? ""}`)
    .digest("hex");
}

function projectOf({ file, project_root }: Dropped, folder: string): string {
  if (typeof project_root === "string") return project_root;
  return isAbsolute(file) ? dirname(file) : folder;
}

async function anchorOf(
  here: FoundRepository | undefined,
  project: string,
  file: string,
  line: unknown,
): Promise<MadeAnchor & { readonly repository?: FoundRepository }> {
  const isLine = Number.isSafeInteger(line) && (line as number) >= 1;
  const at = isLine ? { line: line as number, end: line as number } : {};
  const plain = { path: plainPath(project, file), side: "new", ...at } as const;
  if (here === undefined) return { anchor: plain };
  try {
    const { repository, path } = placeOf(here, project, file);
    return { ...(await new AnchorMaker().make({ repository, path, ...at })), repository };
  } catch (error) {
    if (!(error instanceof TrunklineError)) throw error;
    return { anchor: plain };
  }
}

function plainPath(project: string, file: string): string {
  const path = isAbsolute(file) ? relative(project, file) : file;
  return path.split(sep).join("/");
}

/** A project without git is identified by its folder. */
function plainFolder(project: string): Repository {
  try {
    const root = realpathSync(project);
    return { gitDir: root, root };
  } catch {
    return { gitDir: resolve(project), root: resolve(project) };
  }
}

function timeOf(time: unknown): number | undefined {
  const at = typeof time === "number" ? time * (time < 1e11 ? 1000 : 1) : Date.parse(String(time));
  return isTime(Math.trunc(at)) ? Math.trunc(at) : undefined;
}
