import { lstatSync } from "node:fs";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { Git } from "../../git/git.ts";
import { commitId, isInCommit, worktreeContent } from "./anchor.ts";
import { isBinary, linesOf, textOf } from "./file-text.ts";
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
 * tree if there are none. Throws if there is no such file.
 */
export async function changedLines(
  repository: FoundRepository,
  path: string,
  commit?: string,
): Promise<ChangedLine[]> {
  const lines =
    commit === undefined
      ? await writtenLines(repository, path)
      : await committedLines(repository, path, await commitId(repository.root, commit));
  return lines.slice(0, MOST_LINES);
}

async function writtenLines(repository: FoundRepository, path: string): Promise<ChangedLine[]> {
  const { root, isBare } = repository;
  if (isBare) throw notListed(path, "the repository is bare, with no files. Add --commit");
  // Its diff would mix the lines of several files.
  if (lstatSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true) {
    throw notListed(path, "it is a folder. Name a file in it");
  }
  const diff = await diffOf(root, ["diff"], ["HEAD", "--", `:(literal)${path}`]);
  const lines = parseDiff(diff);
  if (lines.length > 0) return lines;
  const content = worktreeContent(repository, path);
  if (content === undefined && diff === "") {
    throw notListed(path, "there is no such file. Check the path");
  }
  if (content === undefined || isBinary(content)) return [];
  return linesOf(textOf(content)).map((text, index) => {
    return { line: index + 1, side: "new", change: "same", text };
  });
}

async function committedLines(
  { root }: FoundRepository,
  path: string,
  commit: string,
): Promise<ChangedLine[]> {
  const diff = await diffOf(root, SHOW, [commit, "--", `:(literal)${path}`]);
  if (diff === "" && !(await isInCommit(root, commit, path))) {
    throw notListed(path, "the commit has no such file. Check the path and --commit");
  }
  return parseDiff(diff);
}

/** Empty if there is no commit yet. */
async function diffOf(root: string, command: string[], what: string[]): Promise<string> {
  const args = [...command, "--no-color", "--no-renames", "-U3", ...what];
  const { code, stdout } = await new Git(root).run(args, { accepts: [0, 128] });
  return code === 0 ? stdout.toString("utf8") : "";
}

function notListed(path: string, why: string): TrunklineError {
  return new TrunklineError("not-found", `Cannot list the lines of '${path}': ${why}.`);
}

export function parseDiff(diff: string): ChangedLine[] {
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
    const [sign = "\\"] = raw;
    if (sign === "+") lines.push({ line: newLine++, side: "new", change: "added", text });
    else if (sign === "-") lines.push({ line: oldLine++, side: "old", change: "removed", text });
    else if (sign === " ") {
      lines.push({ line: newLine++, side: "new", change: "same", text });
      oldLine++;
    } else if (sign !== "\\") isInHunk = false;
  }
  return lines;
}
