import { TrunklineError } from "../../base/errors.ts";
import { VERSION } from "../../base/version.ts";
import type { ReviewCommands } from "../review-commands.ts";
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
    return { ...countOf(await commands.reviews.addAll(threads)), refused };
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
  const added: { isNew: boolean }[] = [];
  const refused: string[] = [];
  for (const finding of readSarif(value)) {
    try {
      added.push(await commands.add({ ...finding, source: "sarif" }));
    } catch (error) {
      if (!(error instanceof TrunklineError)) throw error;
      refused.push(error.message);
    }
  }
  return { ...countOf(added), refused };
}

/** What the API of a forge answered; undefined if it is something else. */
function readRemote(value: object): RemoteThreads | undefined {
  if (isGitHubComments(value)) return readGitHubComments(value);
  if (isGitLabDiscussions(value)) return readGitLabDiscussions(value);
  const nodes = reviewThreadsIn(value);
  return nodes === undefined ? undefined : readGitHubThreads(nodes);
}

function countOf(added: readonly { readonly isNew: boolean }[]): { added: number; known: number } {
  const count = added.filter(({ isNew }) => isNew).length;
  return { added: count, known: added.length - count };
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch (error) {
    const { message } = error as Error;
    throw new TrunklineError("config", `Cannot import the file: ${message}`, { cause: error });
  }
  throw new TrunklineError("config", "Cannot import the file: it is not a JSON object.");
}
