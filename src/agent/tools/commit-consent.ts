import { TrunklineError } from "../../base/errors.ts";
import { type CommitPrograms, commitPrograms } from "../../git/commit-programs.ts";
import { Git } from "../../git/git.ts";
import { fenced } from "./shown-content.ts";
import { textContent, type ToolWork } from "./agent-tool.ts";

const EVERY_COMMIT = "every git commit, of any files and with any message";

interface Commit {
  readonly title: string;
  readonly message: string;
  /** Files to commit; empty for what is staged. */
  readonly names: readonly string[];
}

/**
 * Waits for consent to a commit: its files, its message, and the programs that git runs for it (hooks,
 * filters, signing). An "always" answer applies as long as these programs stay the same.
 */
export async function allowCommit(
  work: Pick<ToolWork, "allow" | "files">,
  { title, message, names }: Commit,
): Promise<void> {
  const git = new Git(work.files.workspace.cwd);
  const found = await commitPrograms(git);
  const runs = programsText(found);
  const files =
    names.length === 0 ? "What is staged." : names.map((name) => `- ${name}`).join("\n");
  const commands = found.programs.map(({ name, command }) => `- ${name}: ${command}`);
  const text = [message, "", files, ...(runs === "" ? [] : ["", `It ${runs}:`, ...commands])];
  await work.allow({
    subject: { action: "commit", programs: runs === "" ? "" : found.digest },
    covers: runs === "" ? EVERY_COMMIT : `${EVERY_COMMIT}, as long as it ${runs}`,
    title: runs === "" ? title : `${title} (${runs})`,
    content: [textContent(fenced(text.join("\n")))],
  });
  // The programs may have changed while the person decided.
  if ((await commitPrograms(git)).digest === found.digest) return;
  const says = "the hooks or filters of the repository have changed since you were asked";
  throw new TrunklineError("conflict", `Cannot commit: ${says}. Try again`);
}

/** "runs the repository's hook pre-commit, filter x". */
function programsText({ programs }: CommitPrograms): string {
  const names = new Set(programs.map(({ name }) => name));
  return names.size === 0 ? "" : `runs ${[...names].join(", ")} of this repository`;
}
