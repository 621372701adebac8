import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { isRepositoryPath } from "../../base/file/repository-path.ts";
import { Git } from "../../git/git.ts";
import type { Anchor } from "../../store/schema.gen.ts";
import type { RemoteToKeep } from "../../store/review/reviews-remote.ts";
import { LONGEST_COMMENT, suggestionIn } from "../add-comment.ts";
import { AnchorMaker, type MadeAnchor } from "../anchor/anchor.ts";
import { recogniseRepository } from "../moved.ts";
import { type FoundRepository, OBJECT_ID } from "../repository.ts";
import type { ReviewCommands } from "../review-commands.ts";
import type { RemoteThread, RemoteThreads } from "./remote-thread.ts";

export interface ImportResult {
  readonly added: number;
  /** Threads that existed already. */
  readonly known: number;
  /** New replies to those. */
  readonly replies?: number;
  /** Why some threads were not imported. */
  readonly refused: readonly string[];
  /** Comments of a pull request that are on no file, which are left out. */
  readonly general?: number;
}

/**
 * Imports threads of a forge, each once. What is new since the last time is added: replies, and whether
 * the thread is resolved. A thread that cannot be imported does not affect the others.
 */
export async function importRemote(
  commands: ReviewCommands,
  { threads, refused, general }: RemoteThreads,
  source: string,
): Promise<ImportResult> {
  const { here, reviews } = commands;
  const repository = await recogniseRepository(reviews, here);
  const present = await commitsIn(here, threads);
  const anchors = new AnchorMaker();
  const found: RemoteToKeep[] = [];
  const why = [...refused];
  for (const thread of threads) {
    try {
      const [first] = thread.comments;
      if (first === undefined) throw new TrunklineError("config", "it has no comments");
      check(thread);
      const made = await anchorOf(here, thread, present, anchors);
      const hasLines = made.anchor.line !== undefined && made.anchor.side === "new";
      const suggestion = hasLines ? suggestionIn(first.text) : undefined;
      found.push({
        thread: {
          repository,
          ...made,
          ...{ comment: first.text, by: first.by, at: first.at, source },
          severity: "should",
          fingerprint: thread.key,
          suggestion: suggestion === undefined ? undefined : { lines: suggestion },
        },
        comments: thread.comments,
        isResolved: thread.isResolved,
      });
    } catch (error) {
      if (!(error instanceof TrunklineError) || error.code === "unavailable") throw error;
      const what = `${visibleLine(thread.path)} (${thread.key})`;
      why.push(`Cannot import the thread on ${what}: ${error.message.replace(/\.$/, "")}.`);
    }
  }
  const kept = await reviews.remote.keep(found);
  const added = kept.filter(({ isNew }) => isNew).length;
  return {
    added,
    known: kept.length - added,
    replies: kept.reduce((sum, { isNew, replies }) => sum + (isNew ? 0 : replies), 0),
    refused: why,
    general,
  };
}

/** Checks a thread before it is stored: a forge's answer is untrusted input. */
function check({ path, comments }: RemoteThread): void {
  if (!isRepositoryPath(path))
    throw new TrunklineError("usage", "it is not on a file of the repository");
  if (comments.some(({ text }) => text.length > LONGEST_COMMENT)) {
    throw new TrunklineError("limit", `a comment has more than ${LONGEST_COMMENT} characters`);
  }
}

/** Which of the commented commits are in the repository: pull requests may not have been fetched. */
async function commitsIn(
  { root }: FoundRepository,
  threads: readonly RemoteThread[],
): Promise<ReadonlySet<string>> {
  const named = new Set(
    threads.flatMap(({ places }) => places.flatMap(({ commit = "" }) => commit)),
  );
  const asked = [...named].filter((commit) => OBJECT_ID.test(commit));
  if (asked.length === 0) return new Set();
  const { stdout } = await new Git(root).run(["cat-file", "--batch-check"], {
    input: asked.map((commit) => `${commit}\n`).join(""),
  });
  const found = stdout.toString("utf8").matchAll(/^(\w+) commit \d+$/gm);
  return new Set(Array.from(found, ([, commit = ""]) => commit));
}

/** The lines in the newest commit that exists here; otherwise the lines that the forge reports. */
async function anchorOf(
  here: FoundRepository,
  { path, side, places, quote }: RemoteThread,
  present: ReadonlySet<string>,
  anchors: AnchorMaker,
): Promise<MadeAnchor> {
  for (const { commit, line, end } of side === "new" ? places : []) {
    if (commit === undefined || !present.has(commit)) continue;
    try {
      // As in a bare repository: the file of that commit, and not of the work tree.
      const repository = { ...here, isBare: true };
      return await anchors.make({ repository, path, line, end, base: commit });
    } catch (error) {
      if (!(error instanceof TrunklineError)) throw error;
    }
  }
  const [place] = places;
  if (place === undefined) return { anchor: { path, side } };
  const { commit, line, end } = place;
  const anchor: Anchor = {
    ...{ path, side, line, end },
    ...(quote === undefined ? {} : { quote }),
    ...(commit !== undefined && OBJECT_ID.test(commit) ? { commit } : {}),
  };
  return { anchor };
}
