import { defined } from "../base/defined.ts";
import {
  STATES,
  type Thread,
  type ThreadEvent,
  type ThreadState,
} from "../store/review/review-thread.ts";
import type { LocatedLines } from "./anchor/locator.ts";
import { timeText } from "./message-text.ts";

/** The states in which somebody still has to do something. */
export const UNRESOLVED: readonly ThreadState[] = STATES.filter((state) => state !== "resolved");

/** A thread as it is shown to people and agents. */
export interface ThreadView
  extends
    Pick<Thread, "id" | "state" | "severity" | "comment" | "by" | "source">,
    Pick<ShownLines, "line" | "end" | "confidence" | "method" | "isRepositoryGone"> {
  /** The current position. */
  readonly file: string;
  readonly side: string;
  readonly at: string;
  /** The commented lines at the time of the comment. */
  readonly quote?: readonly string[];
  /** The original position, if it differs. */
  readonly original?: { readonly file: string; readonly line?: number; readonly commit?: string };
  readonly suggestion?: readonly string[];
  readonly claimedBy?: string;
  readonly claimedUntil?: string;
  readonly repository: string;
  readonly replies?: readonly ReplyView[];
}

/** Where commented lines are, as far as that can be known. */
export interface ShownLines extends LocatedLines {
  /** The repository is gone, so the positions of its lines are unknown. */
  readonly isRepositoryGone?: boolean;
}

export interface ReplyView {
  readonly kind: string;
  readonly by: string;
  readonly role: string;
  readonly at: string;
  readonly text?: string;
  readonly commit?: string;
  readonly diff?: string;
}

export function viewOf(
  thread: Thread,
  position: ShownLines,
  history?: readonly ThreadEvent[],
): ThreadView {
  const { anchor, claim, suggestion } = thread;
  const { line, end = line } = position;
  // Built in place, because lists have thousands.
  const view: { -readonly [K in keyof ThreadView]: ThreadView[K] } = {
    id: thread.id,
    state: thread.state,
    severity: thread.severity,
    file: position.path,
    side: anchor.side,
    confidence: position.confidence,
    method: position.method,
    comment: thread.comment,
    by: thread.by,
    at: timeText(thread.at),
    repository: thread.repository.root,
    ...(position.isRepositoryGone === true ? { isRepositoryGone: true } : {}),
    source: thread.source,
  };
  if (line !== undefined) view.line = line;
  if (end !== undefined) view.end = end;
  if (anchor.quote !== undefined) view.quote = anchor.quote;
  if (position.path !== anchor.path || line !== anchor.line) view.original = originalOf(thread);
  if (suggestion !== undefined) view.suggestion = suggestion.lines;
  if (claim !== undefined) {
    view.claimedBy = claim.agent;
    view.claimedUntil = timeText(claim.until);
  }
  if (history !== undefined) view.replies = history.slice(1).map(replyOf);
  return view;
}

function originalOf({ anchor }: Thread): NonNullable<ThreadView["original"]> {
  const { path: file, line, commit } = anchor;
  return { file, ...defined({ line, commit }) };
}

function replyOf({ kind, by, role, at, text, proposal = {} }: ThreadEvent): ReplyView {
  const { commit, diff } = proposal;
  return {
    kind,
    by,
    role,
    at: timeText(at),
    ...defined({ text: text ?? proposal.text, commit, diff }),
  };
}
