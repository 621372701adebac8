import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { VERSION } from "../../base/version.ts";
import type { ReviewCommands } from "../review-commands.ts";
import type { NewThread } from "../../store/review/reviews-rows.ts";
import { ThreadMaker } from "../add-comment.ts";
import { recognised } from "../moved.ts";
import {
  isGitHubComments,
  readGitHubComments,
  readGitHubThreads,
  reviewThreadsIn,
} from "./github-review.ts";
import { isGitLabDiscussions, readGitLabDiscussions } from "./gitlab-review.ts";
import { importRemote } from "./import-remote.ts";
import type { RemoteThreads } from "./remote-thread.ts";
import { isSarif, readSarif, toSarif } from "./sarif.ts";
import { exportThreads, isTransfer, readTransfer } from "./transfer.ts";

export async function exportReviews(
  commands: ReviewCommands,
  format: "json" | "sarif",
): Promise<string> {
  const { gitDir, root } = commands.here;
  if (format === "json") return exportThreads(commands.reviews, { gitDir });
  return toSarif(await commands.list({ gitDir }), root, VERSION);
}

export interface Imported {
  readonly added: number;
  /** Threads that existed already. */
  readonly known: number;
  /** New replies to those. */
  readonly replies?: number;
  /** Why some findings were not imported. */
  readonly refused: readonly string[];
  /** Comments of a pull request that are on no file. */
  readonly general?: number;
}

/**
 * Imports threads that another Trunkline exported, an analyser's SARIF, or what an API of GitHub or
 * GitLab answered.
 */
export async function importReviews(commands: ReviewCommands, text: string): Promise<Imported> {
  const value = parsed(text);
  if (isTransfer(value)) {
    const repository = await recognised(commands.reviews, commands.here);
    const { threads, refused } = readTransfer(value, repository);
    return outcomeOf(commands, await commands.reviews.addAll(threads), refused);
  }
  const remote = readRemote(value);
  if (remote !== undefined) {
    const source = isGitLabDiscussions(value) ? "gitlab" : "github";
    return importRemote(commands, remote, source);
  }
  if (!isSarif(value)) {
    const why =
      "it is neither what `trunkline review export` writes, nor SARIF, nor review comments of " +
      "GitHub or discussions of GitLab";
    throw new TrunklineError("config", `Cannot import the file: ${why}.`);
  }
  const { reviews, here, folder } = commands;
  const maker = new ThreadMaker(reviews, here, folder);
  const threads: NewThread[] = [];
  const refused: string[] = [];
  for (const finding of readSarif(value)) {
    try {
      threads.push(await maker.make({ ...finding, source: "sarif" }));
    } catch (error) {
      if (!(error instanceof TrunklineError)) throw error;
      refused.push(error.message);
    }
  }
  return outcomeOf(commands, await reviews.addAll(threads), refused);
}

/** What the API of a forge answered; undefined if it is something else. */
function readRemote(value: object): RemoteThreads | undefined {
  if (isGitHubComments(value)) return readGitHubComments(value);
  if (isGitLabDiscussions(value)) return readGitLabDiscussions(value);
  const nodes = reviewThreadsIn(value);
  return nodes === undefined ? undefined : readGitHubThreads(nodes);
}

interface Added {
  readonly id: string;
  readonly isNew: boolean;
}

/** A thread is in one repository: that of another clone on this machine is not imported a second time. */
async function outcomeOf(
  { reviews, here }: ReviewCommands,
  all: readonly Added[],
  refused: readonly string[],
): Promise<Imported> {
  const old = await Promise.all(all.filter(({ isNew }) => !isNew).map(({ id }) => reviews.get(id)));
  const elsewhere = old.filter(({ repository }) => repository.gitDir !== here.gitDir);
  const why = elsewhere.map(
    ({ id, repository }) => `Thread ${id} is in ${repository.root} already.`,
  );
  return {
    added: all.length - old.length,
    known: old.length - elsewhere.length,
    refused: [...refused, ...why],
  };
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch (error) {
    const why = `it is not JSON (${visibleLine((error as Error).message)})`;
    throw new TrunklineError("config", `Cannot import the file: ${why}.`, { cause: error });
  }
  throw new TrunklineError("config", "Cannot import the file: it is not a JSON object.");
}
