import { visibleLine } from "../../base/text/visible.ts";
import type { Ended } from "../../protocol/acp/attach.ts";
import { counted } from "../shell/layout.ts";

interface Target {
  readonly url: string;
  readonly branch: string;
  readonly revision: string;
}

/** Lines that a file has more and fewer; of a binary file nothing is counted. */
interface FileChange {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
}

/** A pull request, or why there is none and where a person opens one. */
interface PullRequest {
  readonly url?: string;
  readonly number?: number;
  readonly error?: string;
  readonly page?: string;
}

/** What a run came to, as `--json` prints it. */
export interface RunResult {
  readonly session: string;
  readonly stopReason: string;
  /** `pushed`, `unchanged`, `refused` or `unpushed`; absent where the turn did not come to that. */
  readonly run?: string;
  readonly target?: Target;
  readonly changes?: readonly FileChange[];
  readonly pullRequest?: PullRequest;
  readonly isGood: boolean;
}

/** Reads what the server says of a turn. */
export function runResult(session: string, { stopReason, _meta }: Ended): RunResult {
  const { target, trunkline } = (_meta ?? {}) as { target?: Target; trunkline?: Ours };
  const { run, changes, pullRequest } = trunkline ?? {};
  return {
    session,
    stopReason,
    ...(run === undefined ? {} : { run }),
    ...(target === undefined ? {} : { target }),
    ...(changes === undefined ? {} : { changes }),
    ...(pullRequest === undefined ? {} : { pullRequest }),
    isGood: run === "pushed" || run === "unchanged",
  };
}

interface Ours {
  readonly run?: string;
  readonly changes?: readonly FileChange[];
  readonly pullRequest?: PullRequest;
}

/** Ends with the branch: that is what is looked for. */
export function resultText(result: RunResult): string {
  const { session, stopReason, run, target, changes = [], pullRequest } = result;
  const again = `Go on with \`trunkline session attach ${session}\`.`;
  if (run === undefined) return `\nThe turn ended before its time (${stopReason}). ${again}\n`;
  if (run === "unchanged") return "\nNothing was changed.\n";
  if (target === undefined || run !== "pushed") return `\nNo branch was pushed. ${again}\n`;
  const { branch, url } = target;
  const fetch = `git fetch ${visibleLine(url)} ${visibleLine(branch)}`;
  return `\n${diffstat(changes)}\n${requestText(pullRequest)}${fetch}\n${visibleLine(branch)}\n`;
}

/** Why there is none was said when the turn ended. */
function requestText({ url, number, page }: PullRequest = {}): string {
  if (number !== undefined) return `Pull request #${number}: ${visibleLine(url ?? "")}\n`;
  return page === undefined ? "" : `Open a pull request yourself: ${visibleLine(page)}\n`;
}

const WIDEST = 40;

/** As `git diff --stat` shows it. */
function diffstat(changes: readonly FileChange[]): string {
  const width = Math.max(0, ...changes.map(({ path }) => path.length));
  const most = Math.max(WIDEST, ...changes.map(({ added, removed }) => added + removed));
  const marks = (count: number, mark: string): string =>
    mark.repeat(Math.ceil((count * WIDEST) / most));
  const lines = changes.map(({ path, added, removed }) => {
    const bar = `${marks(added, "+")}${marks(removed, "-")}`;
    return ` ${visibleLine(path).padEnd(width)} | ${String(added + removed).padStart(5)} ${bar}\n`;
  });
  const sum = (of: "added" | "removed"): number =>
    changes.reduce((total, change) => total + change[of], 0);
  const files = `${counted(changes.length, "file")} changed`;
  const added = `${counted(sum("added"), "line")} added`;
  return `${lines.join("")} ${files}, ${added}, ${sum("removed")} removed\n`;
}
