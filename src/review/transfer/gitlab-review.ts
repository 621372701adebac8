import {
  commentOf,
  idIn,
  isObject,
  type Json,
  lineIn,
  listIn,
  objectIn,
  placeOf,
  type RemotePlace,
  type RemoteThread,
  type RemoteThreads,
  textIn,
} from "./remote-thread.ts";

/** Whether a value looks like discussions of GitLab's REST API. */
export function isGitLabDiscussions(value: unknown): boolean {
  return listIn(value)
    .flat(1)
    .some((each) => isObject(each) && Array.isArray(each.notes) && "individual_note" in each);
}

/** Threads of `GET /projects/:id/merge_requests/:iid/discussions` (GitLab REST v4). */
export function readGitLabDiscussions(value: unknown): RemoteThreads {
  const threads: RemoteThread[] = [];
  const refused: string[] = [];
  let general = 0;
  for (const each of listIn(value).flat(1)) {
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
      threads.push(threadOf(discussion, notes, root.position));
    } catch (error) {
      const id = String(discussion.id).slice(0, 40);
      refused.push(`Cannot import discussion ${id}: ${(error as Error).message}.`);
    }
  }
  return { threads, refused, general };
}

function threadOf({ id }: Json, notes: readonly Json[], position: Json): RemoteThread {
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
