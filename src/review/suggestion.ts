import { renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { realPath } from "../base/file/path.ts";
import { isGitOwned } from "../git/git-folder.ts";
import { unifiedDiff } from "../base/text/unified-diff.ts";
import type { Anchor, Suggestion } from "../store/review/review-thread.ts";
import { written } from "./anchor/anchor.ts";
import type { LocatedLines } from "./anchor/locator.ts";

const NEWLINE = 0x0a;

/** The result of applying a suggestion to the current file. */
export interface Applied {
  readonly path: string;
  readonly content: Buffer;
  /** For `git apply`. */
  readonly patch: string;
}

/**
 * Applies a suggestion to the current lines, with their line ends. All other bytes stay. Throws
 * with the reason if it cannot be applied.
 */
export function applySuggestion(
  root: string,
  { suggestion, anchor }: { readonly suggestion?: Suggestion; readonly anchor: Anchor },
  position: LocatedLines,
): Applied {
  const refuse = (why: string): never => {
    throw new TrunklineError(
      "config",
      `Cannot apply the suggestion to '${position.path}': ${why}.`,
    );
  };
  if (suggestion === undefined) return refuse("the thread has no suggestion");
  if (isGitOwned(join(root, position.path))) return refuse("it is one of git's own files");
  const folder = dirname(position.path);
  if (realPath(join(root, folder)) !== join(realPath(root), folder)) {
    return refuse("its path has a symbolic link");
  }
  const { line, end } = position;
  if (anchor.side === "old") return refuse("it is on a removed line");
  if (position.confidence === "gone") return refuse("the lines it replaces are gone");
  if (line === undefined || end === undefined) return refuse("it is on no lines");
  const content = Buffer.from(
    written({ root }, position.path) ?? refuse("the file does not exist"),
  );
  const lines = rawLines(content);
  const now = lines.slice(line - 1, end).map((raw) => bare(raw).toString("utf8"));
  if (now.join("\n") !== anchor.quote?.join("\n")) {
    return refuse(`lines ${line} to ${end} have changed since`);
  }
  const ending = lines[line - 1]?.subarray(bare(lines[line - 1] ?? Buffer.alloc(0)).length);
  const isLast = end === lines.length && lines.at(-1)?.at(-1) !== NEWLINE;
  const usual = isLast ? usualEnd(lines) : (ending ?? Buffer.from("\n"));
  const added = suggestion.lines.map((text, index) => {
    const isUnended = isLast && index === suggestion.lines.length - 1;
    return Buffer.concat([Buffer.from(text), isUnended ? Buffer.alloc(0) : usual]);
  });
  const { path } = position;
  const after = Buffer.concat([...lines.slice(0, line - 1), ...added, ...lines.slice(end)]);
  const patch = unifiedDiff(path, content.toString("utf8"), after.toString("utf8"));
  return { path, content: after, patch };
}

/** Replaces the file in one step. */
export function writeApplied(root: string, { path, content }: Applied): void {
  const file = join(root, path);
  const part = `${file}.trunkline-${crypto.randomUUID()}`;
  try {
    writeFileSync(part, content, { mode: statSync(file).mode, flag: "wx" });
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

/** Lines with their line ends. */
function rawLines(content: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let from = 0; from < content.length;) {
    const at = content.indexOf(NEWLINE, from);
    const to = at < 0 ? content.length : at + 1;
    lines.push(content.subarray(from, to));
    from = to;
  }
  return lines;
}

function bare(raw: Buffer): Buffer {
  let end = raw.length;
  if (raw[end - 1] === NEWLINE) end--;
  if (raw[end - 1] === 0x0d) end--;
  return raw.subarray(0, end);
}

/** The line end of the other lines, for a last line that has none. */
function usualEnd(lines: readonly Buffer[]): Buffer {
  const [first] = lines.filter((line) => line.at(-1) === NEWLINE);
  return first === undefined ? Buffer.from("\n") : first.subarray(bare(first).length);
}
