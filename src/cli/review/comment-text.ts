import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as readAll } from "node:stream/consumers";

import { TrunklineError } from "../../base/errors.ts";
import { draftText, textOfDraft } from "../../review/draft.ts";
import type { Invocation } from "../shell/command.ts";

/** The text of a comment: from the command line, from standard input or from an editor. */
export async function readComment(
  { env }: Pick<Invocation, "env">,
  given: string | undefined,
  about: string,
): Promise<string> {
  const source = given ?? (process.stdin.isTTY ? await edited(env, about) : "-");
  const comment = source === "-" ? await readAll(process.stdin) : source;
  if (comment.trim() !== "") return comment.replace(/\n+$/, "");
  throw new TrunklineError("usage", "Cannot add an empty comment: give --comment, or write one.");
}

/** Opens the person's editor. */
async function edited(env: NodeJS.ProcessEnv, about: string): Promise<string> {
  const editor = env.VISUAL || env.EDITOR || "vi";
  using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-review-"));
  const file = join(folder.path, "COMMENT.md");
  writeFileSync(file, draftText(about), { mode: 0o600 });
  // As git does: EDITOR may contain arguments, so a shell runs it.
  const child = spawn("sh", ["-c", `${editor} "$@"`, editor, file], { stdio: "inherit", env });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) {
    const says = `Cannot read the comment: the editor '${editor}' failed with exit code ${code}.`;
    throw new TrunklineError("unavailable", says);
  }
  return textOfDraft(readFileSync(file, "utf8"));
}
