import { existsSync } from "node:fs";

import type { ThreadFilter } from "../store/review/reviews-threads.ts";
import type { BriefThread } from "../store/review/reviews-brief.ts";
import type { Anchor, Repository } from "../store/review/review-thread.ts";
import { readable } from "./anchor/anchor.ts";
import { blobId } from "./anchor/file-lines.ts";
import type { ReviewCommands } from "./review-commands.ts";
import type { ShownLines, ThreadView } from "./thread-view.ts";

/** As much of a thread as fits on a line of a list. */
export type BriefView = Pick<
  ThreadView,
  | "id"
  | "state"
  | "severity"
  | "file"
  | "line"
  | "end"
  | "side"
  | "confidence"
  | "comment"
  | "original"
  | "repository"
  | "isRepositoryGone"
>;

/** So many threads are on more than a few files. */
const MANY = 100;

/**
 * Threads with their current positions, briefly. Comments on files that have not changed are where they
 * were made; only the others are searched.
 */
export async function listBriefly(
  commands: ReviewCommands,
  filter: ThreadFilter,
): Promise<BriefView[]> {
  const threads = await commands.reviews.listBriefly(filter);
  const isUnchanged = unchangedIn(commands, threads.length > MANY);
  const changed = threads.filter((thread) => !isUnchanged(thread));
  const positions =
    changed.length === 0
      ? new Map<BriefThread, ShownLines>()
      : await positionsOf(commands, changed);
  return threads.map((thread) => viewOf(thread, positions.get(thread)));
}

function unchangedIn(
  { repository: here }: ReviewCommands,
  isMany: boolean,
): (thread: BriefThread) => boolean {
  // Repositories are shared by their threads, so they can be looked up as they are.
  const trees = new Map<BriefThread["repository"], WorkTree | undefined>();
  return ({ repository, path, side, blob }) => {
    if (blob === undefined || side === "old") return false;
    let tree = trees.get(repository);
    if (tree === undefined && !trees.has(repository)) {
      const { gitDir } = repository;
      const root = here?.gitDir === gitDir ? here.root : repository.root;
      if (existsSync(gitDir) && existsSync(root)) tree = { root, blobs: new Map() };
      trees.set(repository, tree);
    }
    if (tree === undefined) return false;
    let now = tree.blobs.get(path);
    if (now === undefined) {
      const content = readable(tree.root, path);
      now = content === undefined ? "" : blobId(content, isMany);
      tree.blobs.set(path, now);
    }
    return now === blob;
  };
}

interface WorkTree {
  readonly root: string;
  /** The ids of the files as they are now, by their paths; empty if there is none. */
  readonly blobs: Map<string, string>;
}

/** Where comments are that cannot be where they were made without a look. */
async function positionsOf(
  commands: ReviewCommands,
  threads: readonly BriefThread[],
): Promise<Map<BriefThread, ShownLines>> {
  const blobs = new Set(threads.flatMap(({ blob }) => blob ?? []));
  const stored = await commands.reviews.storedTexts([...blobs]);
  const { locate, save } = commands.locator(commands.repository);
  const found = await Promise.all(
    threads.map(async (thread): Promise<[BriefThread, ShownLines]> => {
      const { id, side, blob } = thread;
      // Without the text, the lines are found by what the whole anchor quotes.
      const isWhole = side === "old" || (blob !== undefined && stored.has(blob));
      const where = isWhole ? placeOf(thread) : await commands.reviews.get(id);
      return [thread, await locate(where)];
    }),
  );
  save();
  return new Map(found);
}

/** The anchor without the commented lines. */
function placeOf({ repository, path, side, line, end, blob, commit }: BriefThread): {
  readonly repository: Repository;
  readonly anchor: Anchor;
} {
  const lines = line === undefined || end === undefined ? {} : { line, end };
  const version = { ...(blob === undefined ? {} : { blob }), ...(commit && { commit }) };
  return { repository, anchor: { path, side, ...lines, ...version } };
}

function viewOf(thread: BriefThread, position: ShownLines | undefined): BriefView {
  const { line, end = line } = position ?? thread;
  const file = position?.path ?? thread.path;
  // Built in place, because lists have thousands.
  const view: { -readonly [K in keyof BriefView]: BriefView[K] } = {
    id: thread.id,
    state: thread.state,
    severity: thread.severity,
    file,
    side: thread.side,
    comment: thread.comment,
    confidence: position?.confidence ?? "exact",
    repository: thread.repository.root,
  };
  if (line !== undefined && end !== undefined) {
    view.line = line;
    view.end = end;
  }
  if (file !== thread.path || line !== thread.line) {
    view.original = { file: thread.path, ...(thread.line && { line: thread.line }) };
  }
  if (position?.isRepositoryGone === true) view.isRepositoryGone = true;
  return view;
}
