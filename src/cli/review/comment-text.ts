import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as readAll } from "node:stream/consumers";

import { TrunklineError } from "../../base/errors.ts";
import type { Invocation } from "../shell/command.ts";

const CUT = "# ------------------------ >8 ------------------------";

/** What a person has to say: from the command line, from standard input or from an editor. */
export async function wordsOf(
  { env }: Pick<Invocation, "env">,
  given: string | undefined,
  about: string,
): Promise<string> {
  const words = given ?? (process.stdin.isTTY ? await edited(env, about) : "-");
  const said = words === "-" ? await readAll(process.stdin) : words;
  if (said.trim() !== "") return said.replace(/\n+$/, "");
  throw new TrunklineError("usage", "Nothing was said: give --comment, or write something.");
}

/** Has a person write in their editor. What stands below the line is there to be read only. */
async function edited(env: NodeJS.ProcessEnv, about: string): Promise<string> {
  const editor = env.VISUAL || env.EDITOR || "vi";
  using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-review-"));
  const file = join(folder.path, "COMMENT.md");
  const hint = "# Write your comment above this line. An empty one is not kept.";
  const shown = about.split("\n").map((line) => `# ${line}`.trimEnd());
  writeFileSync(file, `\n${CUT}\n${hint}\n${shown.join("\n")}\n`, { mode: 0o600 });
  // As git does: what is in EDITOR may have arguments of its own.
  const child = spawn("sh", ["-c", `${editor} "$@"`, editor, file], { stdio: "inherit", env });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) {
    throw new TrunklineError(
      "unavailable",
      `Cannot take a comment: '${editor}' ended with ${code}.`,
    );
  }
  return readFileSync(file, "utf8").split(CUT)[0] ?? "";
}
