import { isObject } from "../../base/check.ts";
import type { RemoteToKeep } from "../../store/review/reviews-remote.ts";

/** One comment of a thread on a forge. */
export type RemoteComment = RemoteToKeep["comments"][number];

/** Lines in the version of a file that a commit has. */
export interface RemotePlace {
  readonly commit?: string | undefined;
  readonly line: number;
  readonly end: number;
}

/** A thread on a pull or merge request. */
export interface RemoteThread {
  /** The same each time it is read, and different from that of all others. */
  readonly key: string;
  readonly path: string;
  readonly side: "old" | "new";
  /** Where its lines are, the newest version first; empty for the file as a whole. */
  readonly places: readonly RemotePlace[];
  /** The commented lines that the forge reports. */
  readonly quote?: readonly string[] | undefined;
  /** The first one opened it. */
  readonly comments: readonly RemoteComment[];
  /** Undefined if that is not known. */
  readonly isResolved?: boolean | undefined;
  /** What the forge calls it: to reply to it, and to resolve it. */
  readonly replyTo?: string | undefined;
  readonly resolveBy?: string | undefined;
}

/** Threads that were read, and why others were not. */
export interface RemoteThreads {
  readonly threads: readonly RemoteThread[];
  readonly refused: readonly string[];
  /** Comments that are on no file. */
  readonly general: number;
}

/** The threads of one pull or merge request on its forge. */
export interface RemoteReview {
  /** For messages. */
  readonly name: string;
  threads(): Promise<RemoteThreads>;
  /** Adds a comment to a thread, and gives its id. */
  reply(thread: RemoteThread, text: string): Promise<string>;
  resolve(thread: RemoteThread, isResolved: boolean): Promise<void>;
  /** The newest commit of the pull or merge request. */
  head(): Promise<string>;
  /** Opens a thread on lines as a commit has them. */
  open(commit: string, place: NewPlace, text: string): Promise<void>;
}

/** Where a new thread goes. Without lines it is on the file as a whole. */
export interface NewPlace extends Pick<RemoteThread, "path" | "side"> {
  readonly line?: number | undefined;
  readonly end?: number | undefined;
}

type Json = Readonly<Record<string, unknown>>;

/** An object of an answer, empty if it is none. */
export function objectIn(value: unknown): Json {
  return isObject(value) ? value : {};
}

export function listIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function lineIn(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 1 ? (value as number) : undefined;
}

/** Ids are numbers on some forges, and texts on others. */
export function idIn(value: unknown): string | undefined {
  return Number.isSafeInteger(value) ? String(value) : textIn(value);
}

/** The first line to the last, in that order. */
export function placeOf(commit: unknown, line: unknown, start: unknown): RemotePlace[] {
  const last = lineIn(line);
  if (last === undefined) return [];
  return [{ commit: textIn(commit), line: Math.min(lineIn(start) ?? last, last), end: last }];
}

/** Throws why a comment cannot be imported. */
export function commentOf(id: unknown, by: unknown, at: unknown, text: unknown): RemoteComment {
  const known = idIn(id);
  if (known === undefined) throw new Error("it has no id");
  const said = textIn(text);
  if (said === undefined) throw new Error("it has no text");
  const time = Date.parse(String(at));
  if (Number.isNaN(time)) throw new Error("its time cannot be read");
  return { id: known, by: textIn(by) ?? "ghost", at: time, text: said };
}

/** Fields that only GitHub's GraphQL API has, by the id of a thread's first comment. */
type GitHubStates = ReadonlyMap<string, { readonly id: string; readonly isResolved: boolean }>;

/** Whether a value looks like review comments of GitHub's REST API. */
export function isGitHubComments(value: unknown): boolean {
  return flat(value).some(
    (each) => isObject(each) && "pull_request_review_id" in each && "diff_hunk" in each,
  );
}

/** Threads of `GET /repos/{owner}/{repo}/pulls/{number}/comments` (GitHub REST, 2022-11-28). */
export function readGitHubComments(value: unknown, states?: GitHubStates): RemoteThreads {
  const refused: string[] = [];
  const byThread = new Map<string, Json[]>();
  for (const each of flat(value)) {
    const comment = objectIn(each);
    // Replies name the first comment of their thread, also if that was deleted.
    const first = idIn(comment.in_reply_to_id) ?? idIn(comment.id);
    if (first === undefined) refused.push("Cannot import a comment: it has no id.");
    else byThread.getOrInsert(first, []).push(comment);
  }
  const threads: RemoteThread[] = [];
  for (const [first, comments] of byThread) {
    try {
      threads.push(threadOf(first, comments, states));
    } catch (error) {
      refused.push(`Cannot import thread ${first}: ${(error as Error).message}.`);
    }
  }
  return { threads, refused, general: 0 };
}

function threadOf(first: string, all: readonly Json[], states?: GitHubStates): RemoteThread {
  const [root = {}] = all;
  const path = textIn(root.path);
  if (path === undefined) throw new Error("it names no file");
  const comments = all
    .map(({ id, user, created_at, body }) => {
      return commentOf(id, objectIn(user).login, created_at, body);
    })
    .toSorted((one, other) => one.at - other.at || Number(one.id) - Number(other.id));
  const lines = [
    ...placeOf(root.commit_id, root.line, root.start_line),
    ...placeOf(root.original_commit_id, root.original_line, root.original_start_line),
  ];
  const places = root.subject_type === "file" ? [] : lines;
  const side = root.side === "LEFT" ? "old" : "new";
  const state = states?.get(first);
  return {
    key: `github:${hostOf(root)}:${first}`,
    path,
    side,
    places,
    quote: places.length === 0 ? undefined : quoteIn(root, side),
    comments,
    isResolved: state?.isResolved,
    replyTo: first,
    resolveBy: state?.id,
  };
}

/** Ids are unique on one host only. */
function hostOf({ html_url, url }: Json): string {
  const page = URL.parse(textIn(html_url) ?? textIn(url) ?? "");
  return page?.host.replace(/^api\./, "") ?? "github.com";
}

/** A hunk ends with the line that was commented on. */
function quoteIn(comment: Json, side: "old" | "new"): string[] | undefined {
  const hunk = textIn(comment.diff_hunk);
  if (hunk === undefined) return undefined;
  const line = lineIn(comment.original_line) ?? lineIn(comment.line) ?? 1;
  const start = lineIn(comment.original_start_line) ?? lineIn(comment.start_line) ?? line;
  const sign = side === "old" ? "-" : "+";
  const lines = hunk
    .split("\n")
    .slice(1)
    .filter((each) => each.startsWith(sign) || each.startsWith(" "))
    .map((each) => each.slice(1).replace(/\r$/, ""));
  const quote = lines.slice(-Math.max(1, line - start + 1));
  return quote.length === 0 ? undefined : quote;
}

/** The state of each thread, by the id of its first comment. */
export function gitHubStates(
  nodes: readonly unknown[],
): [string, { id: string; isResolved: boolean }][] {
  return nodes.flatMap((node) => {
    const { id, isResolved, comments } = objectIn(node);
    const first = idIn(objectIn(listIn(objectIn(comments).nodes)[0]).databaseId);
    const thread = textIn(id);
    if (first === undefined || thread === undefined) return [];
    return [[first, { id: thread, isResolved: isResolved === true }]];
  });
}

/** `gh api --paginate --slurp` puts the pages into another list. */
function flat(value: unknown): unknown[] {
  return listIn(value).flat(1);
}

/** Whether a value looks like discussions of GitLab's REST API. */
export function isGitLabDiscussions(value: unknown): boolean {
  return flat(value).some(
    (each) => isObject(each) && Array.isArray(each.notes) && "individual_note" in each,
  );
}

/** Threads of `GET /projects/:id/merge_requests/:iid/discussions` (GitLab REST v4). */
export function readGitLabDiscussions(value: unknown): RemoteThreads {
  const threads: RemoteThread[] = [];
  const refused: string[] = [];
  let general = 0;
  for (const each of flat(value)) {
    const discussion = objectIn(each);
    // GitLab writes notes of its own, such as "changed the description".
    const notes = listIn(discussion.notes)
      .map(objectIn)
      .filter(({ system }) => system !== true);
    const [root] = notes;
    if (root === undefined) continue;
    if (!isObject(root.position)) {
      general++;
      continue;
    }
    try {
      threads.push(discussionThread(discussion, notes, root.position));
    } catch (error) {
      const id = String(discussion.id).slice(0, 40);
      refused.push(`Cannot import discussion ${id}: ${(error as Error).message}.`);
    }
  }
  return { threads, refused, general };
}

function discussionThread({ id }: Json, notes: readonly Json[], position: Json): RemoteThread {
  const discussion = idIn(id);
  if (discussion === undefined) throw new Error("it has no id");
  // A line that did not change has both numbers.
  const side = lineIn(position.new_line) === undefined && lineIn(position.old_line) ? "old" : "new";
  const path = textIn(side === "old" ? position.old_path : position.new_path);
  if (path === undefined) throw new Error("it names no file");
  const comments = notes.map((note) => {
    return commentOf(note.id, objectIn(note.author).username, note.created_at, note.body);
  });
  const resolvable = notes.filter((note) => note.resolvable === true);
  return {
    key: `gitlab:${discussion}`,
    path,
    side,
    places: placesIn(position, side),
    comments: comments.map((comment, index) => {
      return index === 0 ? { ...comment, text: plainSuggestion(comment.text) } : comment;
    }),
    isResolved: resolvable.length > 0 && resolvable.every(({ resolved }) => resolved === true),
    replyTo: discussion,
    resolveBy: resolvable.length > 0 ? discussion : undefined,
  };
}

function placesIn(position: Json, side: "old" | "new"): RemotePlace[] {
  const which = side === "old" ? "old_line" : "new_line";
  const commit = side === "old" ? position.base_sha : position.head_sha;
  const start = objectIn(objectIn(position.line_range).start);
  // `<sha1 of the path>_<old line>_<new line>`
  const [, oldLine, newLine] = /_(\d+)_(\d+)$/.exec(textIn(start.line_code) ?? "") ?? [];
  const coded = Number(side === "old" ? oldLine : newLine);
  return placeOf(commit, position[which], lineIn(start[which]) ?? coded);
}

/** `suggestion:-0+0` replaces the commented line, as a block without numbers does elsewhere. */
function plainSuggestion(text: string): string {
  return text.replaceAll(/^(`{3,}suggestion):-0\+0(?=[ \t]*\r?$)/gm, "$1");
}
