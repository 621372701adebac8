import {
  commentOf,
  idIn,
  isObject,
  type Json,
  lineIn,
  listIn,
  objectIn,
  placeOf,
  type RemoteThread,
  type RemoteThreads,
  textIn,
} from "./remote-thread.ts";

/** Fields that only GitHub's GraphQL API has, by the id of a thread's first comment. */
export type GitHubStates = ReadonlyMap<
  string,
  { readonly id: string; readonly isResolved: boolean }
>;

/** Whether a value looks like review comments of GitHub's REST API. */
export function isGitHubComments(value: unknown): boolean {
  return flat(value).some(
    (each) => isObject(each) && "pull_request_review_id" in each && "diff_hunk" in each,
  );
}

/** The nodes of `reviewThreads` in an answer of GitHub's GraphQL API; undefined if it has none. */
export function reviewThreadsIn(value: unknown): unknown[] | undefined {
  const { data } = objectIn(value);
  const { reviewThreads } = objectIn(objectIn(objectIn(data).repository).pullRequest);
  const { nodes } = objectIn(reviewThreads);
  return Array.isArray(nodes) ? nodes : undefined;
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
    else byThread.set(first, [...(byThread.get(first) ?? []), comment]);
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
  const isFile = root.subject_type === "file";
  const places = isFile
    ? []
    : [
        ...placeOf(root.commit_id, root.line, root.start_line),
        ...placeOf(root.original_commit_id, root.original_line, root.original_start_line),
      ];
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

/** Threads of `reviewThreads` (GitHub GraphQL). */
export function readGitHubThreads(nodes: readonly unknown[]): RemoteThreads {
  const states = new Map(gitHubStates(nodes));
  const comments = nodes.flatMap((node) => {
    const thread = objectIn(node);
    const replies = listIn(objectIn(thread.comments).nodes);
    const first = objectIn(replies[0]).databaseId;
    return replies.map((reply, index) => {
      const { databaseId, author, createdAt, body, diffHunk, url } = objectIn(reply);
      return {
        ...{ id: databaseId, user: author, created_at: createdAt, body, html_url: url },
        ...(index === 0 ? {} : { in_reply_to_id: first }),
        path: thread.path,
        side: thread.diffSide,
        ...{ line: thread.line, start_line: thread.startLine },
        ...{ original_line: thread.originalLine, original_start_line: thread.originalStartLine },
        subject_type: thread.subjectType === "FILE" ? "file" : "line",
        diff_hunk: diffHunk,
      };
    });
  });
  return readGitHubComments(comments, states);
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
