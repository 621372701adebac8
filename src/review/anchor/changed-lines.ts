import { Git } from "../../git/git.ts";
import { commitId } from "./commit-file.ts";
import { written } from "./anchor.ts";
import { isBinary, linesOf, textOf } from "./file-lines.ts";
import type { FoundRepository } from "../repository.ts";

/** A line of a diff that can be commented on. */
export interface ChangedLine {
  /** Counted in its own side. */
  readonly line: number;
  readonly side: "old" | "new";
  readonly change: "added" | "removed" | "same";
  readonly text: string;
}

const MOST_LINES = 5_000;
/** The change of a commit; of a merge, to its first parent. */
const SHOW = ["show", "--format=", "-m", "--first-parent"];

/**
 * The lines around the changes since the last commit, or around those of a commit; all lines of the work
 * tree if there are none.
 */
export async function changedLines(
  repository: FoundRepository,
  path: string,
  commit?: string,
): Promise<ChangedLine[]> {
  const git = new Git(repository.root);
  const form = ["--no-color", "--no-renames", "-U3"];
  const args =
    commit === undefined
      ? ["diff", ...form, "HEAD", "--", path]
      : [...SHOW, ...form, await commitId(repository.root, commit), "--", path];
  const { code, stdout } = await git.run(args, { accepts: [0, 128] });
  const lines = code === 0 ? parseDiff(stdout.toString("utf8")) : [];
  if (commit !== undefined) return lines.slice(0, MOST_LINES);
  return (lines.length > 0 ? lines : wholeFile(repository, path)).slice(0, MOST_LINES);
}

function wholeFile(repository: FoundRepository, path: string): ChangedLine[] {
  const content = written(repository, path);
  if (content === undefined || isBinary(content)) return [];
  return linesOf(textOf(content)).map((text, index) => {
    return { line: index + 1, side: "new", change: "same", text };
  });
}

function parseDiff(diff: string): ChangedLine[] {
  const lines: ChangedLine[] = [];
  let oldLine = 0;
  let newLine = 0;
  let isInHunk = false;
  for (const raw of diff.split("\n")) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(raw);
    if (hunk !== null) {
      [oldLine, newLine, isInHunk] = [Number(hunk[1]), Number(hunk[2]), true];
      continue;
    }
    if (!isInHunk) continue;
    const text = raw.slice(1).replace(/\r$/, "");
    switch (raw[0]) {
      case "+":
        lines.push({ line: newLine++, side: "new", change: "added", text });
        break;
      case "-":
        lines.push({ line: oldLine++, side: "old", change: "removed", text });
        break;
      case " ":
        lines.push({ line: newLine++, side: "new", change: "same", text });
        oldLine++;
        break;
      case undefined:
      case "\\":
        break;
      default:
        isInHunk = false;
    }
  }
  return lines;
}
