import { existsSync } from "node:fs";

import { IndexBlobs } from "../git/index-blobs.ts";
import type { Anchor } from "../store/review/review-thread.ts";
import type { BriefPlace, BriefThread } from "../store/review/reviews-brief.ts";
import { readable } from "./anchor/anchor.ts";
import { blobId } from "./anchor/file-lines.ts";
import type { LocatorOptions } from "./anchor/locator.ts";
import type { ReviewCommands } from "./review-commands.ts";
import type { ShownLines, ThreadView } from "./thread-view.ts";

/** Where a thread is now. */
export type BriefPosition = Pick<
  ThreadView,
  "file" | "line" | "end" | "side" | "confidence" | "original" | "repository" | "isRepositoryGone"
> &
  Pick<ShownLines, "dependsOn">;

/** As much of a thread as fits on a line of a list. */
export type BriefView = BriefPosition & Pick<ThreadView, "id" | "state" | "severity" | "comment">;

/** The threads of a version of a file that was commented on. */
export interface OpenedThreads {
  readonly place: BriefPlace;
  readonly opened: readonly OpenedLines[];
  readonly idOf: (which: number) => string;
}

/** The lines that a comment was made on; none if it was made on a whole file. */
type OpenedLines = Pick<Anchor, "line" | "end">;

/** So many threads are on more than a few files. */
const MANY = 100;

/** Threads with their current positions, briefly. */
export async function briefViews(
  commands: ReviewCommands,
  threads: readonly BriefThread[],
): Promise<BriefView[]> {
  const positions = await briefPositions(commands, threads);
  return threads.map((thread, at) => {
    // In place, because lists have thousands.
    const view = positions[at] as { -readonly [K in keyof BriefView]: BriefView[K] };
    view.id = thread.id;
    view.state = thread.state;
    view.severity = thread.severity;
    view.comment = thread.comment;
    return view;
  });
}

/**
 * Finds the current positions of threads. Comments on files that have not changed are where they were
 * made; only the others are searched.
 */
async function briefPositions(
  commands: ReviewCommands,
  threads: readonly BriefThread[],
): Promise<BriefPosition[]> {
  const isMany = threads.length > MANY;
  const index = isMany ? indexOf(commands) : undefined;
  const isUnchanged = unchangedIn(commands, index?.(), isMany);
  /** What is on a file that has changed, by its index. */
  const changed = new Map<BriefPlace, number[]>();
  for (let at = 0; at < threads.length; at++) {
    const place = threads[at]?.place;
    if (place === undefined) continue;
    const others = changed.get(place);
    if (others !== undefined) others.push(at);
    else if (!isUnchanged(place)) changed.set(place, [at]);
  }
  const positions = Array.from<ShownLines | undefined>({ length: threads.length });
  const searched = Array.from(changed, ([place, indexes]): OpenedThreads => {
    const some = indexes.flatMap((at) => threads[at] ?? []);
    return { place, opened: some.map(linesOf), idOf: (which) => some[which]?.id ?? "" };
  });
  await locateThreads(commands, index, searched, ({ place }, found) => {
    changed.get(place)?.forEach((at, n) => (positions[at] = found[n]));
  });
  return threads.map((thread, at) => positionOf(thread.place, thread, positions[at]));
}

/**
 * Looks for threads on files that have changed. `use` gets the positions of one place at a time, so that
 * those of all need not be kept.
 */
export async function searchThreads(
  commands: ReviewCommands,
  places: readonly OpenedThreads[],
  use: (of: OpenedThreads, positions: readonly BriefPosition[]) => void,
): Promise<void> {
  const count = places.reduce((sum, { opened }) => sum + opened.length, 0);
  const index = count > MANY ? indexOf(commands) : undefined;
  await locateThreads(commands, index, places, (of, found) => {
    const { place, opened } = of;
    use(
      of,
      opened.map((lines, n) => positionOf(place, lines, found[n])),
    );
  });
}

/** Opens the index when it is needed: reading it takes about as long as reading a few files. */
function indexOf({ repository: here }: ReviewCommands): () => IndexBlobs | undefined {
  let opened: { readonly index: IndexBlobs | undefined } | undefined;
  return () => {
    opened ??= { index: here && IndexBlobs.open(here.root, here.worktreeGitDir) };
    return opened.index;
  };
}

function unchangedIn(
  { repository: here }: ReviewCommands,
  index: IndexBlobs | undefined,
  isMany: boolean,
): (place: BriefPlace) => boolean {
  const trees = new Map<BriefPlace["repository"], WorkTree | undefined>();
  const known = new Map<BriefPlace, boolean>();
  const blobAt = (tree: WorkTree, path: string): string => {
    // If the index does not tell, the texts are compared, which takes less time than hashing one.
    if (tree.index !== undefined) return tree.index.blobOf(path) ?? "";
    const content = readable(tree.root, path);
    return content === undefined ? "" : blobId(content, isMany);
  };
  const look = ({ repository, path, side, blob }: BriefPlace): boolean => {
    if (blob === undefined || side === "old") return false;
    if (!trees.has(repository)) {
      const { gitDir } = repository;
      const isHere = here?.gitDir === gitDir;
      const root = isHere ? here.root : repository.root;
      const isThere = existsSync(gitDir) && existsSync(root);
      const tree = { root, index: isHere ? index : undefined, blobs: new Map() };
      trees.set(repository, isThere ? tree : undefined);
    }
    const tree = trees.get(repository);
    if (tree === undefined) return false;
    const now = tree.blobs.get(path) ?? blobAt(tree, path);
    tree.blobs.set(path, now);
    return now === blob;
  };
  return (place) => {
    const before = known.get(place);
    if (before !== undefined) return before;
    const isUnchanged = look(place);
    known.set(place, isUnchanged);
    return isUnchanged;
  };
}

interface WorkTree {
  readonly root: string;
  readonly index: IndexBlobs | undefined;
  /** The ids of the files as they are now, by their paths; empty if there is none. */
  readonly blobs: Map<string, string>;
}

/** Where comments are that cannot be where they were made without a look. */
async function locateThreads(
  commands: ReviewCommands,
  index: LocatorOptions["index"],
  places: readonly OpenedThreads[],
  use: (of: OpenedThreads, found: readonly ShownLines[]) => void,
): Promise<void> {
  if (places.length === 0) return;
  const blobs = new Set(places.flatMap(({ place }) => place.blob ?? []));
  const texts = await commands.reviews.storedTexts([...blobs]);
  const { locateAll, save } = commands.locator(commands.repository, { index, texts });
  await Promise.all(
    places.map(async (of) => {
      const { repository, path, side, blob, commit } = of.place;
      // Without the text, the lines are found by what the whole anchor quotes.
      const isWhole = side === "old" || (blob !== undefined && texts.has(blob));
      const lines = isWhole ? of.opened : await quotedLines(commands, of);
      const version = { ...(blob === undefined ? {} : { blob }), ...(commit && { commit }) };
      use(of, await locateAll(repository, { path, side, ...version }, lines));
    }),
  );
  save();
}

function linesOf({ line, end }: BriefThread): OpenedLines {
  return line === undefined || end === undefined ? {} : { line, end };
}

function quotedLines(
  { reviews }: ReviewCommands,
  { opened, idOf }: OpenedThreads,
): Promise<Anchor[]> {
  return Promise.all(opened.map(async (_, which) => (await reviews.get(idOf(which))).anchor));
}

function positionOf(
  place: BriefPlace,
  opened: { readonly line?: number | undefined; readonly end?: number | undefined },
  position: ShownLines | undefined,
): BriefPosition {
  const { line, end = line } = position ?? opened;
  const file = position?.path ?? place.path;
  const found: { -readonly [K in keyof BriefPosition]: BriefPosition[K] } = {
    file,
    side: place.side,
    confidence: position?.confidence ?? "exact",
    repository: place.repository.root,
  };
  if (line !== undefined && end !== undefined) {
    found.line = line;
    found.end = end;
  }
  if (file !== place.path || line !== opened.line) {
    const { path } = place;
    found.original = opened.line ? { file: path, line: opened.line } : { file: path };
  }
  if (position?.isRepositoryGone === true) found.isRepositoryGone = true;
  if (position?.dependsOn !== undefined) found.dependsOn = position.dependsOn;
  return found;
}
