import { text as readAll } from "node:stream/consumers";

import { TrunklineError } from "../../base/errors.ts";
import { draftText, textOfDraft } from "../../review/draft.ts";
import { editText } from "../shell/ask.ts";
import type { Invocation } from "../shell/command.ts";

/** The text of a comment: from the command line, from standard input or from an editor. */
export async function readComment(
  { env }: Pick<Invocation, "env">,
  given: string | undefined,
  about: string,
): Promise<string> {
  const source =
    given ??
    (process.stdin.isTTY ? textOfDraft(await editText(draftText(about), "COMMENT.md", env)) : "-");
  const comment = source === "-" ? await readAll(process.stdin) : source;
  if (comment.trim() !== "") return comment.replace(/\n+$/, "");
  throw new TrunklineError("usage", "Cannot add an empty comment: give --comment, or write one.");
}
