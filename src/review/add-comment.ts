import { TrunklineError } from "../base/errors.ts";
import { Reviews } from "../store/review/reviews.ts";
import type { Repository, Severity } from "../store/review/review-thread.ts";
import type { NewThread } from "../store/review/reviews-rows.ts";
import { AnchorMaker, type AnchorRequest } from "./anchor/anchor.ts";
import { recogniseRepository } from "./moved.ts";
import { type FoundRepository, openRepository, placeOf } from "./repository.ts";

export interface NewComment extends Pick<
  AnchorRequest,
  "line" | "end" | "side" | "base" | "unsaved"
> {
  /** Relative to the folder or to the root of the repository. */
  readonly file: string;
  /** Comment on the lines as this commit has them; a removed line is one of its parent. */
  readonly commit?: string | undefined;
  readonly severity?: Severity | undefined;
  readonly comment: string;
  /** Text that replaces the lines. */
  readonly suggestion?: string | undefined;
  readonly by: string;
  readonly source: string;
  readonly at?: number | undefined;
  /** The id of an imported thread. A thread that exists already is not changed. */
  readonly id?: string | undefined;
  readonly fingerprint?: string | undefined;
}

export const LONGEST_COMMENT = 100_000;

/** Adds a comment in the repository of a folder. */
export async function addCommentIn(data: string, folder: string, comment: NewComment) {
  const repository = openRepository(folder);
  using reviews = await Reviews.open(data);
  return await addComment(reviews, repository, folder, comment);
}

/** Adds a comment and returns its thread. */
export async function addComment(
  reviews: Reviews,
  here: FoundRepository,
  folder: string,
  comment: NewComment,
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  return reviews.add(await threadMaker(reviews, here, folder)(comment));
}

/**
 * Makes threads of comments. Repositories and files are looked at once for all of them. Throws if a comment is
 * invalid, with the reason.
 */
export function threadMaker(
  reviews: Reviews,
  here: FoundRepository,
  folder: string,
): (comment: NewComment) => Promise<NewThread> {
  const anchors = new AnchorMaker();
  const places = new Map<string, ReturnType<typeof placeOf>>();
  const recognised = new Map<string, Promise<Repository>>();
  return async (comment) => {
    const { file, line, end, side, base: _base, commit: _commit, unsaved, ...said } = comment;
    if (said.comment.trim() === "") {
      throw new TrunklineError("usage", "Cannot add an empty comment.");
    }
    if (said.comment.length > LONGEST_COMMENT) {
      const what = `Cannot add a comment of ${said.comment.length} characters`;
      throw new TrunklineError("limit", `${what}: the limit is ${LONGEST_COMMENT}.`);
    }
    const { repository, path } = places.getOrInsertComputed(file, () =>
      placeOf(here, folder, file),
    );
    const version = versionOf(repository, comment);
    const made = await anchors.make({ ...version, path, line, end, side, unsaved });
    const hasLines = made.anchor.line !== undefined;
    const suggestion = said.suggestion ?? (hasLines ? fencedIn(said.comment) : undefined);
    if (suggestion !== undefined && !hasLines) {
      const says = "Cannot suggest lines without --line: give the lines to replace.";
      throw new TrunklineError("usage", says);
    }
    return {
      ...said,
      ...made,
      repository: await recognised.getOrInsertComputed(repository.gitDir, () =>
        recogniseRepository(reviews, repository),
      ),
      severity: said.severity ?? "should",
      suggestion: suggestion === undefined ? undefined : { lines: suggestedLines(suggestion) },
    };
  };
}

/** The version of the file that a comment is on. */
function versionOf(repository: FoundRepository, { side, base, commit }: NewComment) {
  if (commit === undefined) return { repository, base };
  if (side === "old") return { repository, base: base ?? `${commit}^` };
  // As in a bare repository: the file of that commit, and not of the work tree.
  return { repository: { ...repository, isBare: true }, base: commit };
}

/** The lines that a comment suggests, in the syntax of forges. */
export function suggestionIn(comment: string): string[] | undefined {
  const text = fencedIn(comment);
  return text === undefined ? undefined : suggestedLines(text);
}

/** The suggestion in a comment, in the syntax of forges; undefined unless there is exactly one. */
function fencedIn(comment: string): string | undefined {
  const lines = comment.split("\n");
  const found: string[] = [];
  // Search for an unclosed block only once: a comment may contain thousands.
  const endless = new Set<string>();
  for (let at = 0; at < lines.length; at++) {
    const [, marks] = /^(`{3,})suggestion[ \t]*\r?$/.exec(lines[at] ?? "") ?? [];
    if (marks === undefined || endless.has(marks)) continue;
    let end = at + 1;
    while (end < lines.length && lines[end]?.trimEnd() !== marks) end++;
    if (end === lines.length) endless.add(marks);
    else {
      const inside = lines.slice(at + 1, end).map((line) => `${line}\n`);
      found.push(inside.join(""));
      at = end;
    }
  }
  return found.length === 1 ? found[0] : undefined;
}

/** An empty suggestion deletes the lines. */
function suggestedLines(text: string): string[] {
  if (text === "") return [];
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
