import { existsSync } from "node:fs";

import {
  explainLine,
  type LineQuestion,
  toldExplanation,
} from "../../../authorship/explain-line.ts";
import { WorkHistory } from "../../../authorship/work-history.ts";
import { TrunklineError } from "../../../base/errors.ts";
import type { LineWhy } from "../session-api.ts";

/** Who wrote a line of a file in the work tree of a folder. */
export async function lineWhy(
  folder: string,
  question: Omit<LineQuestion, "history">,
): Promise<LineWhy> {
  const history = existsSync(folder) ? WorkHistory.of(question.data, folder) : undefined;
  if (history === undefined) {
    throw new TrunklineError("not-found", `'${folder}' is not in a git repository any more.`);
  }
  const explained = await explainLine({ ...question, history });
  const { session, prompt } = explained;
  const rows = toldExplanation(explained);
  // A note may name a session that is not ours.
  return { rows, ...(session === undefined || prompt === undefined ? {} : { session }) };
}
