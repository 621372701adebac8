import { TrunklineError } from "../../base/errors.ts";
import { fenceFor } from "../../base/text/fence.ts";
import type { OwedRemote } from "../../store/review/reviews-remote.ts";
import type { ReviewCommands } from "../review-commands.ts";
import { importRemote } from "./import-remote.ts";
import type { RemoteReview, RemoteThread } from "./remote-thread.ts";

/** Failures in a row after which the export stops. */
const MOST_FAILURES = 3;

/** Attempts of which one that fails does not stop the next, but several in a row do. */
export class GiveUp {
  /** Why attempts failed. */
  readonly refused: string[] = [];
  #failures = 0;

  get isOver(): boolean {
    return this.#failures >= MOST_FAILURES;
  }

  /** Whether it succeeded. `what` begins the sentence that says why not. */
  async attempt(what: string, work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      this.#failures = 0;
      return true;
    } catch (error) {
      if (!(error instanceof TrunklineError)) throw error;
      this.refused.push(`${what}: ${error.message}`);
      this.#failures++;
      return false;
    }
  }
}

export interface ExportOptions {
  /** Makes text of an agent inert: no mentions and no quick actions. */
  readonly inert: (text: string) => string;
  readonly isTrial: boolean;
}

/**
 * Posts replies that were written here since the import to the forge, and resolves threads there. Each
 * comment ends with an invisible mark, so that it is recognised even if this process dies before it notes
 * that it was posted.
 */
export async function exportRemote(
  commands: ReviewCommands,
  review: RemoteReview,
  { inert, isTrial }: ExportOptions,
) {
  const found = await review.threads();
  const { refused } = await importRemote(commands, found, review.name);
  const byKey = new Map(found.threads.map((thread) => [thread.key, thread]));
  const result = {
    /** What was said on the forge, or would be. */
    posted: [] as { thread: string; text: string }[],
    /** Threads that were resolved or reopened there, or would be. */
    resolved: [] as string[],
    reopened: [] as string[],
    refused: [...refused],
  };
  const giveUp = new GiveUp();
  for (const owed of await commands.reviews.remote.owed(commands.here.gitDir)) {
    const remote = byKey.get(owed.key);
    if (remote === undefined) continue;
    await giveUp.attempt(`Cannot answer ${owed.thread}`, () => exportThread(owed, remote));
    if (giveUp.isOver) break;
  }
  result.refused.push(...giveUp.refused);
  return result;

  async function exportThread(owed: OwedRemote, remote: RemoteThread): Promise<void> {
    const { thread, says, isResolved, wasResolved } = owed;
    const { reviews } = commands;
    for (const { seq, role, text, proposal } of says) {
      const said = bodyOf(text ?? proposal?.text, proposal?.commit, proposal?.diff);
      if (said === "") continue;
      const body = role === "agent" ? inert(said) : said;
      result.posted.push({ thread, text: body });
      if (isTrial) continue;
      // Forges do not show HTML comments.
      const id = await review.reply(remote, `${body}\n\n<!-- trunkline:${thread}/${seq} -->`);
      await reviews.remote.notePosted(thread, id, seq);
    }
    if (isResolved === wasResolved || remote.resolveBy === undefined) return;
    if (!isTrial) {
      await review.resolve(remote, isResolved);
      await reviews.remote.noteResolved(thread, isResolved);
    }
    (isResolved ? result.resolved : result.reopened).push(thread);
  }
}

function bodyOf(text = "", commit?: string, diff?: string): string {
  const parts = [text, commit === undefined ? "" : `Commit ${commit}`];
  if (diff !== undefined && text === "" && commit === undefined) {
    const fence = fenceFor(diff);
    parts.push(`${fence}diff\n${diff}\n${fence}`);
  }
  return parts.filter((part) => part !== "").join("\n\n");
}
