import { TrunklineError } from "../../base/errors.ts";
import { VERSION } from "../../base/version.ts";
import type { ReviewCommands } from "../review-commands.ts";
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
  /** Why some findings were not imported. */
  readonly refused: readonly string[];
}

/** Imports threads that another Trunkline exported, or an analyser's SARIF. */
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
