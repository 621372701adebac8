import { TrunklineError } from "../../base/errors.ts";
import { VERSION } from "../../base/version.ts";
import { changedLines, type ChangedLine } from "../anchor/changed-lines.ts";
import type { ReviewCommands } from "../review-commands.ts";
import { pathIn } from "../repository.ts";
import { isSarif, readSarif, toSarif } from "./sarif.ts";
import { exportThreads, isTransfer, readTransfer } from "./transfer.ts";
import { watchReviews } from "../inbox/watch-reviews.ts";

/** The lines of a file that a person may want to comment on. */
export function linesToReview(commands: ReviewCommands, file: string): Promise<ChangedLine[]> {
  return changedLines(commands.here, pathIn(commands.here, commands.folder, file));
}

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
  /** Were there already. */
  readonly known: number;
  /** What could not be taken in, and why. */
  readonly refused: readonly string[];
}

/** Takes in what another Trunkline exported, or an analyser's SARIF. */
export async function importReviews(commands: ReviewCommands, text: string): Promise<Imported> {
  const value = parsed(text);
  if (isTransfer(value)) {
    const { gitDir, root } = commands.here;
    const added = await commands.reviews.addAll(readTransfer(value, { gitDir, root }));
    return { ...countOf(added), refused: [] };
  }
  if (!isSarif(value)) {
    const why = "it is neither what `trunkline review export` writes nor SARIF";
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

/** One thing that a person or an agent did, as it is told while watching. */
export interface Happening {
  readonly thread: string;
  readonly file: string;
  readonly kind: string;
  readonly by: string;
  readonly at: string;
  readonly text?: string;
}

/** Tells what happens to threads from now on, until the signal comes. */
export async function followReviews(
  commands: ReviewCommands,
  tell: (happening: Happening) => void,
  signal: AbortSignal,
): Promise<void> {
  const gitDir = commands.repository?.gitDir;
  let seen = await commands.reviews.lastSeq();
  let isLooking = false;
  let isStale = false;
  const over = Promise.withResolvers<void>();
  const look = async (): Promise<void> => {
    isStale = true;
    if (isLooking) return;
    isLooking = true;
    while (isStale) {
      isStale = false;
      for (const { seq, thread, path, ...event } of await commands.reviews.eventsAfter(
        seen,
        gitDir,
      )) {
        seen = seq;
        const { kind, by, at, text } = event;
        const said = text === undefined ? {} : { text };
        tell({ thread, file: path, kind, by, at: new Date(at).toISOString(), ...said });
      }
    }
    isLooking = false;
  };
  const stop = watchReviews(commands.data, () => {
    look().catch(over.reject);
  });
  // Nothing else would keep the process waiting.
  const alive = setInterval(() => {}, 60_000);
  // Something may have happened before the watch began.
  look().catch(over.reject);
  signal.addEventListener("abort", () => over.resolve(), { once: true });
  try {
    await over.promise;
  } finally {
    stop();
    clearInterval(alive);
  }
}
