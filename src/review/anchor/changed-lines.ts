import { Git } from "../../git/git.ts";
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

/** The lines around the changes since the last commit; all lines if there are none. */
export async function changedLines(
  repository: FoundRepository,
  path: string,
): Promise<ChangedLine[]> {
  const git = new Git(repository.root);
  const args = ["diff", "--no-color", "--no-renames", "-U3", "HEAD", "--", path];
  const { code, stdout } = await git.run(args, { accepts: [0, 128] });
  const lines = code === 0 ? parseDiff(stdout.toString("utf8")) : [];
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
