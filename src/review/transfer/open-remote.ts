import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { fenceFor } from "../../base/text/fence.ts";
import type { Thread } from "../../store/review/review-thread.ts";
import { fileInCommit, isInCommit } from "../anchor/anchor.ts";
import { Locator } from "../anchor/locator.ts";
import { OBJECT_ID } from "../repository.ts";
import type { ReviewCommands } from "../review-commands.ts";
import { GiveUp } from "./export-remote.ts";
import type { NewPlace, RemoteReview } from "./remote-thread.ts";

/**
 * The unresolved comments of one author, at their lines as the pull request has them: those of `commit`. Some
 * may be refused, with the reason.
 */
export async function unpostedComments(
  commands: ReviewCommands,
  review: RemoteReview,
  author: string,
) {
  const { here, reviews } = commands;
  const local = await reviews.remote.local(here.gitDir);
  const own = (await reviews.list({ gitDir: here.gitDir })).filter(
    ({ id, by, state }) => local.has(id) && by === author && state !== "resolved",
  );
  if (own.length === 0) return { commit: "", comments: [], refused: [] };
  const head = await review.head();
  if (!OBJECT_ID.test(head) || !(await isInCommit(here.root, head))) {
    const why = `its commit ${visibleLine(head).slice(0, 40)} is not in this repository. Fetch it`;
    throw new TrunklineError("not-found", `Cannot post comments on ${review.name}: ${why}.`);
  }
  /** Comments that were written here, and that the pull request does not have. */
  const comments: { thread: string; place: NewPlace; text: string }[] = [];
  const refused: string[] = [];
  for (const thread of own) {
    const place = await placeIn(head, thread, commands);
    if (place === undefined) {
      const what = `${thread.id} on ${visibleLine(thread.anchor.path)}`;
      refused.push(`Cannot post ${what}: the pull request does not have these lines.`);
      continue;
    }
    const opened = (await reviews.history(thread.id)).find(({ kind }) => kind === "opened");
    const mark = `<!-- trunkline:${thread.id}/${opened?.seq} -->`;
    comments.push({ thread: thread.id, place, text: `${bodyOf(thread)}\n\n${mark}` });
  }
  return { commit: head, comments, refused };
}

/**
 * Posts comments as new threads of a pull request. They are recognised by their marks when the pull
 * request is read the next time, also if this process dies before.
 */
export async function postComments(
  review: RemoteReview,
  { commit, comments }: Awaited<ReturnType<typeof unpostedComments>>,
): Promise<{ readonly posted: readonly string[]; readonly refused: readonly string[] }> {
  const posted: string[] = [];
  const giveUp = new GiveUp();
  for (const { thread, place, text } of comments) {
    const open = () => review.open(commit, place, text);
    const isPosted = await giveUp.attempt(`Cannot post ${thread}`, open);
    if (isPosted) posted.push(thread);
    if (giveUp.isOver) break;
  }
  return { posted, refused: giveUp.refused };
}

/** The lines of a thread in the version that a commit has; undefined where it has none that are certain. */
async function placeIn(
  head: string,
  { anchor }: Thread,
  { here, reviews }: ReviewCommands,
): Promise<NewPlace | undefined> {
  const { path, side } = anchor;
  if (side === "old") return { path, side, line: anchor.line, end: anchor.end };
  const content = await fileInCommit(here.root, head, path);
  if (content === undefined) return undefined;
  // The version of the commit takes the place of the one in the work tree.
  const there = new Map([[path, content]]);
  const found = await new Locator(here.root, reviews, there).locate(anchor);
  const isCertain = found.confidence === "exact" || found.confidence === "high";
  if (!isCertain || found.path !== path) return undefined;
  return { path, side, line: found.line, end: found.end };
}

/** The comment, with its suggestion as forges write them. */
function bodyOf({ comment, suggestion }: Thread): string {
  if (suggestion === undefined || comment.includes("```suggestion")) return comment;
  const lines = suggestion.lines.join("\n");
  const fence = fenceFor(lines);
  return `${comment}\n\n${fence}suggestion\n${lines}\n${fence}`;
}
